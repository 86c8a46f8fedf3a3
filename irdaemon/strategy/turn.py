"""A turn of a coding session that is over: what was asked, and how the answer ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.text.tasks import has_task
from irdaemon.types import IndexPlan, Surface

_FIELDS = (
    "session_id",
    "project",
    "cwd",
    "git_branch",
    "timestamp",
    "model",
    "session_title",
    "outcome",
)


class ClaudeTurn:
    """Make a surface of each prompt and one of the final answer.

    A prompt that only continues the conversation makes none, unless nothing else does. With
    `include_full` one more holds all that the assistant wrote in the turn, where that is more than
    the final answer. A title record (`record_type` "session_title") makes one surface.
    """

    named: ClassVar[bool] = False

    def __init__(self, include_full: bool = False):
        self.include_full = include_full
        # Part of the recipe: turns are read again where a version adds a field.
        self.fields = _FIELDS

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        turn = raw if isinstance(raw, Mapping) else {}
        fields = {name: turn.get(name) for name in self.fields}
        fields["has_tool_use"] = bool(turn.get("has_tool_use"))
        surfaces = tuple(
            Surface(artifact_id, kind, text, granularity)
            for kind, text, granularity in self._parts(turn)
            if text
        )
        return IndexPlan({**fields, **(metadata or {})}, surfaces)

    def _parts(self, turn: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        if turn.get("record_type") == "session_title":
            return [("session_title", _text(turn, "session_title"), "field")]
        summary, full = _text(turn, "assistant_summary"), _text(turn, "assistant_full")
        asked = [str(each).strip() for each in (turn.get("queued_prompts") or ())]
        asked.insert(0, _text(turn, "user_prompt"))
        if summary or any(map(has_task, asked)):
            asked = [each for each in asked if has_task(each)]
        parts = [("user_prompt", each, "field") for each in asked]
        parts.append(("assistant_summary", summary, "field"))
        if self.include_full and full != summary:
            parts.append(("assistant_full", full, "document"))
        return parts


def _text(turn: Mapping[str, Any], key: str) -> str:
    return str(turn.get(key) or "").strip()
