"""One module for each agent: `read` its event from stdin, `written` is the answer for stdout."""
