"""One module for each agent: `read` what it says on stdin, `written` what it reads on stdout."""
