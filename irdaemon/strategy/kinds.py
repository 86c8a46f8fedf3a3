"""Strategies for one kind of artifact each: skills, rules, turns of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.strategy.chunked import Chunked
from irdaemon.text.tasks import has_task
from irdaemon.types import IndexPlan, Surface


class Rule:
    """Make a surface of a rule's description, and one per chunk of its text.

    The first is of kind `description`, with the rule's globs as further words of the lexical leg; a
    rule without a description has none. `chunk_size` and `overlap` are in
    characters; a Markdown heading of level one or two begins a new chunk.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "text")

    def __init__(self, chunk_size: int = 1200, overlap: int = 200):
        self.chunk_size = chunk_size
        self.overlap = overlap

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"text": str(raw)}
        chunked = Chunked(self.chunk_size, self.overlap, headings=True)
        plan = chunked.decompose(artifact_id, str(parts.get("text") or ""), metadata)
        fields = {"name": str(parts.get("name") or artifact_id), **plan.filter_fields}
        surfaces = plan.surfaces
        if description := _get_text(parts, "description"):
            text = f"{parts.get('name') or artifact_id}: {description}"
            globs = " ".join(map(str, parts.get("globs") or ()))
            first = Surface(artifact_id, "description", text, "field", lexical=globs)
            surfaces = (first, *surfaces)
        return IndexPlan(fields, surfaces)


_FIELDS = (
    "session_id", "project", "cwd", "git_branch", "timestamp", "model", "session_title", "outcome",
    "file", "file_written", "commit",
)  # fmt: skip


class ClaudeTurn:
    """Make a surface of each prompt and one of the final answer.

    A prompt that only continues the conversation makes none, unless there would be no surface. With
    `include_full` one more holds the assistant's whole text in the turn, where that is more than
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
            for kind, text, granularity in self._list_parts(turn)
            if text
        )
        return IndexPlan({**fields, **(metadata or {})}, surfaces)

    def _list_parts(self, turn: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        if turn.get("record_type") == "session_title":
            return [("session_title", _get_text(turn, "session_title"), "field")]
        summary, full = _get_text(turn, "assistant_summary"), _get_text(turn, "assistant_full")
        queued = (str(each).strip() for each in turn.get("queued_prompts") or ())
        prompts = [_get_text(turn, "user_prompt"), *queued]
        if summary or any(map(has_task, prompts)):
            prompts = [each for each in prompts if has_task(each)]
        parts = [("user_prompt", each, "field") for each in prompts]
        parts.append(("assistant_summary", summary, "field"))
        if self.include_full and full != summary:
            parts.append(("assistant_full", full, "document"))
        return parts


def _get_text(turn: Mapping[str, Any], key: str) -> str:
    return str(turn.get(key) or "").strip()


BODY_CHARS = 20_000


class Skill:
    """Embed name and description only, as one surface of kind `capability`.

    With `read_body` the lexical leg also reads up to 20,000 characters of the body (`text`) and of
    further words from the source (`lexical`, such as parameter names): measured, that finds more
    without a change to the embedded text.
    """

    named: ClassVar[bool] = True
    synopsis_fields: ClassVar[tuple[str, ...]] = ("name", "description", "text")

    def __init__(self, read_body: bool = True):
        self.read_body = read_body

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        parts = raw if isinstance(raw, Mapping) else {"name": str(raw)}
        name = str(parts.get("name") or artifact_id)
        description = str(parts.get("description") or "")
        body = f"{parts.get('text') or ''}\n{parts.get('lexical') or ''}".strip()
        surface = Surface(
            artifact_id,
            "capability",
            f"{name}\n\n{description}".strip(),
            granularity="field",
            lexical=body[:BODY_CHARS] if self.read_body else "",
        )
        fields = {"name": name, "parent": parts.get("parent"), **(metadata or {})}
        return IndexPlan(fields, (surface,))
