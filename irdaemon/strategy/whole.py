"""One surface: the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.types import IndexPlan, Surface


def text_of(raw: Any, text_key: str | None = None) -> str:
    """Return the text of a raw artifact.

    A string is itself; a mapping gives `text_key` and nothing else where that is named, "" where
    it lacks it; else "text", else all its string values, one a line; anything else its `str`. None,
    also as the named part, has no text.
    """
    if isinstance(raw, str):
        return raw
    if raw is None:
        return ""
    if not isinstance(raw, Mapping):
        return str(raw)
    if text_key is not None or "text" in raw:
        part = raw.get("text" if text_key is None else text_key)
        return "" if part is None else str(part)
    return "\n".join(value for value in raw.values() if isinstance(value, str))


def words_beside(raw: Any) -> str:
    """Return what a source offers for the lexical leg alone, "" for nothing."""
    return str(raw.get("lexical") or "") if isinstance(raw, Mapping) else ""


class WholeText:
    """Make one surface of the whole text; blank text makes none.

    The lexical leg also reads what the source offers beside it (`lexical`).
    """

    named: ClassVar[bool] = True

    def __init__(self, text_key: str | None = None, kind: str = "document"):
        self.text_key = text_key
        self.kind = kind

    def decompose(
        self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None
    ) -> IndexPlan:
        """Return the plan for `raw`; see IndexingStrategy."""
        text = text_of(raw, self.text_key)
        surface = Surface(artifact_id, self.kind, text, lexical=words_beside(raw))
        return IndexPlan(dict(metadata or {}), (surface,) if text.strip() else ())
