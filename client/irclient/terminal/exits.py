"""The exit codes of `irc` and of `irdaemon`, in one table.

0   done, or something applies       5   unhealthy or incomplete
1   abstained: nothing applies       6   a measure below what was asked, or a regression
2   wrong usage, query or setting    70 a bug of the program
3   daemon unreachable or too slow   74  the output cannot be written
4   unknown, or nothing indexed
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMITTED, ABSTAINED, WRONG, UNREACHABLE, UNKNOWN, UNHEALTHY, REGRESSED = range(7)
DONE = COMMITTED
INTERNAL, UNWRITTEN = 70, 74

# The exit code for each error code; any other error is a bug of the program.
_BY_ERROR = {
    "query": WRONG,
    "limit": WRONG,
    "denied": WRONG,
    "conflict": WRONG,
    "config": WRONG,
    "settings": WRONG,
    "backup": WRONG,
    "running": WRONG,
    "unreachable": UNREACHABLE,
    "timeout": UNREACHABLE,
    "lost": UNREACHABLE,
    "unavailable": UNREACHABLE,
    "protocol": WRONG,
    "not_found": UNKNOWN,
    "ledger": UNHEALTHY,
    "source": UNHEALTHY,
}


def choose_exit(answer: Mapping[str, Any]) -> int:
    """Return the exit code for an answer: committed, abstained, or nothing indexed."""
    if answer["results"]:
        return COMMITTED
    return UNKNOWN if answer["reason"] == "nothing_indexed" else ABSTAINED


def choose_status_exit(state: Mapping[str, Any]) -> int:
    """Return the exit code for a status: done, or unhealthy."""
    return COMMITTED if state.get("health", {}).get("level", "ok") == "ok" else UNHEALTHY


def choose_error_exit(code: str) -> int:
    """Return the exit code for an error's code (`irclient.errors`)."""
    return _BY_ERROR.get(code, INTERNAL)
