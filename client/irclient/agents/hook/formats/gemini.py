"""Gemini CLI: BeforeAgent, SessionStart and AfterAgent; its stdout must be JSON or empty."""

from __future__ import annotations

from irclient.agents.hook.event import PROMPT, START, STOP, HookEvent, nested, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KINDS = {"BeforeAgent": PROMPT, "SessionStart": START, "AfterAgent": STOP}


def read(given: Mapping[str, Any], name: str) -> HookEvent | None:
    """Return the event, None for one that asks for nothing."""
    return read_event(given, name, _KINDS)


def written(event: HookEvent, context: str) -> dict[str, Any]:
    """Return the answer that adds a text to the context."""
    return nested(event.name, context)
