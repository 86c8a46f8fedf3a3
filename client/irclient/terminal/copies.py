"""What a person sees of backends: how the copies are, and what a front end answers from."""

from __future__ import annotations

import time

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_STATES = {
    "sending": "being sent",
    "refused": "written by another, so not from here",
    "degraded": "not level",
}


def backends(state: Mapping[str, Any]) -> list[str]:
    """Return the lines about the backends of a status: none where there is none."""
    if state.get("backends") is not None:
        return [*_of_front(state["backends"], state["corpora"])]
    return [*_of_writer(state["corpora"])]


def _of_writer(corpora: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for the level copies at each backend, and one for each other copy."""
    held = [corpus for corpus in corpora if corpus.get("copy")]
    level: dict[str, list[str]] = {}
    for corpus in held:
        if corpus["copy"]["state"] == "level":
            level.setdefault(corpus["copy"]["backend"], []).append(corpus["name"])
    for backend, names in level.items():
        yield f"copies: {', '.join(names)} at {backend}: level"
    for corpus in held:
        if (how := corpus["copy"]["state"]) != "level":
            yield f"copy: {corpus['name']} at {corpus['copy']['backend']}: {_why(how, corpus)}"


def _why(how: str, corpus: Mapping[str, Any]) -> str:
    copy = corpus["copy"]
    parts = [_STATES.get(how, how)]
    if how == "degraded" and copy["since"] is not None:
        parts[0] += f" since {_moment(copy['since'])}"
    parts += [copy["reason"]] if copy["reason"] else []
    text = ": ".join(parts)
    return text if how == "sending" else f"{text}; answers here are from this daemon's own index"


def _of_front(
    every: Sequence[Mapping[str, Any]], corpora: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a line for each backend: who writes there, or why it is not heard."""
    for each in every:
        held = [c["copy"] for c in corpora if c.get("copy", {}).get("backend") == each["backend"]]
        if each["problem"]:
            since = f" since {_moment(each['since'])}" if each["since"] else ""
            yield f"front end: {each['backend']} does not answer{since}: {each['problem']}"
        elif held:
            writers = ", ".join(dict.fromkeys(copy["holder"] for copy in held))
            yield f"front end: from {each['backend']}, written by {writers}"
        else:
            yield f"front end: {each['backend']} has no corpus yet"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
