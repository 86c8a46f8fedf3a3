"""Verdicts in a few words: whether what a turn of a session was about is still so."""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NAMED = 3
_HASH = 10


def describe_verdict(verdict: Mapping[str, Any] | None, *, names: bool = True) -> str:
    """Return a verdict as a clause: `2 of its 3 files changed since`; "" where there is none.

    Without `names` no word of the session is in it.
    """
    if not verdict:
        return ""
    parts = [_describe_files(verdict)]
    if names and (symbols := verdict.get("lost_symbols")):
        parts.append(f"{', '.join(symbols[:_NAMED])} no longer in what it touched")
    if names and (commits := verdict.get("lost_commits")):
        parts.append(f"{', '.join(each[:_HASH] for each in commits[:_NAMED])} on no branch")
    return "; ".join(filter(None, parts))


def _describe_files(verdict: Mapping[str, Any]) -> str:
    files = verdict.get("files", 0)
    changed, gone = len(verdict.get("changed", ())), len(verdict.get("gone", ()))
    if not files:
        return ""
    if not (changed or gone):
        return "its file is as it was" if files == 1 else f"its {files} files are as they were"
    if files == 1:
        return "its file changed since" if changed else "its file is gone"
    are = "is" if gone == 1 else "are"
    if not changed:
        return f"{gone} of its {files} files {are} gone"
    told = f"{changed} of its {files} files changed since"
    return f"{told}, {gone} {are} gone" if gone else told
