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

# Commands of `irc` alone, which somebody may look for here.
OF_IRC = (
    *("discover", "search", "explain", "eval", "disclose", "ls", "info", "records", "artifacts"),
    *("audit", "coverage", "usage", "gaps", "listing", "top", "web", "add", "rm", "build"),
    *("maintain", "hint", "docs", "impressions", "hook", "install", "wait", "events", "ping"),
)

# The lock of a detached daemon's supervisor, in the state directory.
SUPERVISED = "supervisor"
