"""The commands of `irdaemon`: a file for each, as `irclient.terminal.help` wants it."""

COMMANDS = (
    "start",
    "restart",
    "stop",
    "status",
    "check",
    "backup",
    "restore",
    "init",
    "fetch",
    "tools",
    "keys",
    "service",
    "doctor",
    "mcp",
    "version",
    "completion",
)

# The lock of a detached daemon's supervisor, in the state directory.
SUPERVISED = "supervisor"
