"""A rule: its description, and its text in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.strategy.chunked import Chunked
from irdaemon.types import IndexPlan, Surface


class Rule:
    """Make a surface of a rule's description, and one per chunk of its text.

    The first is of kind `description`, with the globs it holds for as further words of the lexical
    leg; a rule that does not describe itself has none. `chunk_size` and `overlap` are in
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
        return IndexPlan(fields, (*self._description(artifact_id, parts), *plan.surfaces))

    def _description(self, artifact_id: str, parts: Mapping[str, Any]) -> tuple[Surface, ...]:
        described = str(parts.get("description") or "").strip()
        if not described:
            return ()
        text = f"{parts.get('name') or artifact_id}: {described}"
        globs = " ".join(map(str, parts.get("globs") or ()))
        return (Surface(artifact_id, "description", text, "field", lexical=globs),)
