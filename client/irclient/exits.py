"""What `irc` says with its exit code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

COMMITTED, ABSTAINED, WRONG, UNREACHABLE, UNKNOWN = range(5)


def exit_of(answer: Mapping[str, Any]) -> int:
    """Return the exit code that an answer is: committed, abstained, or nothing indexed."""
    if answer["results"]:
        return COMMITTED
    return UNKNOWN if answer["reason"] == "nothing_indexed" else ABSTAINED
