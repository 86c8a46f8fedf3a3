"""Cursor: sessionStart takes context; beforeSubmitPrompt does so only from one version on."""

from __future__ import annotations

from irclient.agents.hook.event import PROMPT, START, STOP, HookEvent, read_event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KINDS = {"beforeSubmitPrompt": PROMPT, "sessionStart": START, "stop": STOP}
# The oldest client seen to take it; Cursor's documents do not name the key for this event.
_TAKES_CONTEXT = (3, 20, 17)


def read(given: Mapping[str, Any], name: str) -> HookEvent | None:
    """Return the event, None for one that asks for nothing or whose answer would be dropped."""
    event = read_event(given, name, _KINDS)
    if event and event.kind == PROMPT and _version(given) < _TAKES_CONTEXT:
        return None
    return event


def written(event: HookEvent, context: str) -> dict[str, Any]:
    """Return the answer that adds a text to the context."""
    return {"additional_context": context}


def _version(given: Mapping[str, Any]) -> tuple[int, ...]:
    parts = text(given, "cursor_version").split("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())
