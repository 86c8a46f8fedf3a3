"""One surface from name and description; the body only helps the lexical leg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.types import IndexPlan, Surface

BODY_CHARS = 20_000


class Skill:
    """Embed name and description only, as one surface of kind `capability`.

    With `read_body` the lexical leg also reads up to 20,000 characters of the body (`text`) and
    any further words the source offers (`lexical`, such as parameter names): measured, that finds
    more without touching what is embedded.
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
