"""The commands of `irc`: a file for each.

A command has HELP, ABOUT and EXAMPLES (see `irclient.terminal.help`), the options it adds to its
parser, and a `run` that asks the daemon and returns the exit code. The client connects when it is
first asked something.
"""

COMMANDS = (
    "discover",
    "search",
    "explain",
    "eval",
    "disclose",
    "ls",
    "info",
    "records",
    "artifacts",
    "status",
    "audit",
    "top",
    "add",
    "rm",
    "build",
    "hint",
    "impressions",
    "hook",
    "install",
    "uninstall",
    "wait",
    "events",
    "ping",
    "mcp",
    "completion",
)
