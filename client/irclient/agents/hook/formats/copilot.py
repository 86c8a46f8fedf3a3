"""Copilot CLI and the agent in VS Code: context at the start of a session; none at a prompt.

The name under which a hook is configured decides the shape: camelCase is Copilot's own, PascalCase
the one of VS Code.
"""

from __future__ import annotations

from irclient.agents.hook.event import START, STOP, HookEvent, nested, read_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KINDS = {"sessionStart": START, "SessionStart": START, "agentStop": STOP, "Stop": STOP}


def read(given: Mapping[str, Any], name: str) -> HookEvent | None:
    """Return the event, None for one that asks for nothing or whose answer would be dropped."""
    return read_event(given, name, _KINDS)


def written(event: HookEvent, context: str) -> dict[str, Any]:
    """Return the answer that adds a text to the context."""
    return (
        nested(event.name, context) if event.name[0].isupper() else {"additionalContext": context}
    )
