"""The commands of `irc`: a file for each.

A command has HELP, ABOUT and EXAMPLES (see `irclient.terminal.help`), the options it adds to its
parser, and a `run` that asks the daemon and returns the exit code. The client connects when it is
first asked something.
"""

# What stands above a command in the list of them all, where a group begins.
HEADINGS = {
    "discover": "ask",
    "ls": "look at what is indexed",
    "add": "change what is indexed",
    "impressions": "set up coding agents",
    "wait": "for scripts",
}
# What these print is not for a person in the first place: it has one form.
NO_DATA = ("hook", "mcp", "web", "completion")
# What is no command here: the daemon's own, and those of `ir`, each as it is written.
_DAEMONS = (
    *("start", "restart", "stop", "logs", "check", "backup", "restore", "compact", "backend"),
    *("init", "config", "fetch", "tools", "keys", "reload", "service", "doctor", "version"),
)
ELSEWHERE = {
    **{name: f"irdaemon {name}" for name in _DAEMONS},
    "eval-select": "irc eval select CASES.jsonl -c CORPUS",
    "sweep-select": "irc eval sweep CASES.jsonl -c CORPUS",
}
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
    "coverage",
    "usage",
    "gaps",
    "listing",
    "top",
    "web",
    "add",
    "rm",
    "build",
    "maintain",
    "hint",
    "docs",
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
