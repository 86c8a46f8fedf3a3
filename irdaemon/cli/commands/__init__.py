"""The commands of `irdaemon`: a file for each, as `irclient.terminal.help` wants it."""

# What stands above a command in the list of them all, where a group begins.
HEADINGS = {
    "start": "run it",
    "check": "the ledger",
    "backend": "engines elsewhere",
    "init": "set it up",
    "doctor": "find what is wrong",
    "mcp": "the rest",
}
COMMANDS = (
    "start",
    "restart",
    "reload",
    "stop",
    "status",
    "logs",
    "check",
    "backup",
    "restore",
    "compact",
    "backend",
    "init",
    "config",
    "fetch",
    "tools",
    "keys",
    "service",
    "uninstall",
    "doctor",
    "mcp",
    "version",
    "completion",
)

# The lock of a detached daemon's supervisor, in the state directory.
SUPERVISED = "supervisor"
