"""The exit codes of `irc`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMITTED, ABSTAINED, WRONG, UNREACHABLE, UNKNOWN, UNHEALTHY = range(6)


def exit_of(answer: Mapping[str, Any]) -> int:
    """Return the exit code for an answer: committed, abstained, or nothing indexed."""
    if answer["results"]:
        return COMMITTED
    return UNKNOWN if answer["reason"] == "nothing_indexed" else ABSTAINED


def exit_of_status(state: Mapping[str, Any]) -> int:
    """Return the exit code for a status: done, or not healthy."""
    return COMMITTED if state.get("health", {}).get("level", "ok") == "ok" else UNHEALTHY
