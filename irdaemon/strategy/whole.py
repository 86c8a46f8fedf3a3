"""One surface: the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.types import IndexPlan, Surface


def text_of(raw: Any, text_key: str | None = None) -> str:
    """Return the text of a raw artifact.

    A string is itself; a mapping gives `text_key`, else "text", else all its string values, one a
    line; anything else its `str`. None, also as the named part, has no text.
    """
    if isinstance(raw, str):
        return raw
    if raw is None:
        return ""
    if not isinstance(raw, Mapping):
        return str(raw)
    for key in (text_key, "text"):
        if key is not None and key in raw:
            return "" if raw[key] is None else str(raw[key])
    return "\n".join(value for value in raw.values() if isinstance(value, str))


class WholeText:
    """Make one surface of the whole text; blank text makes none."""

    named: ClassVar[bool] = True

    def __init__(self, text_key: str | None = None, kind: str = "document"):
        self.text_key = text_key
        self.kind = kind

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        text = text_of(raw, self.text_key)
        surfaces = (Surface(artifact_id, self.kind, text),) if text.strip() else ()
        return IndexPlan(dict(metadata or {}), surfaces)
