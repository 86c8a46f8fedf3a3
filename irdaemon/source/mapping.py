"""Mappings: texts that live in the memory of the program using the library."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from irdaemon.types import Artifact, Entry, Problem, Reading, Root, Scan, SourceError

_PARTS = ("name", "description", "text")


class InMemory:
    """Serve a mapping of id to text, or to `{name, description, text, ...}`.

    Further keys become metadata. The mapping is read again in each scan, so its owner may
    change it. A value of another type is that entry's SourceError.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, items: Mapping[str, str | Mapping[str, Any]]):
        self._items = items

    def roots(self) -> tuple[Root, ...]:
        """Return nothing: there is nothing on disk to watch."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the items, stamped by their content."""
        if under is not None:
            return Scan((), ())
        named = [(id, value) for id, value in self._items.items() if isinstance(id, str)]
        wrong = [repr(id) for id in self._items if not isinstance(id, str)]
        entries = [Entry(id, "", stamp_content(value)) for id, value in named]
        problems = tuple(Problem(id, "an id must be a string") for id in sorted(wrong))
        return Scan(tuple(sorted(entries, key=lambda entry: entry.key)), ("",), problems)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Return one item."""
        if entry.key not in self._items:
            raise FileNotFoundError(entry.key)
        value = self._items[entry.key]
        if isinstance(value, str):
            return Reading((Artifact(entry.key, value, entry.key, body=value),))
        if not isinstance(value, Mapping):
            kind = type(value).__name__
            raise SourceError(f"{entry.key}: a {kind} is neither text nor a mapping", "")
        metadata = {str(key): simplify(value[key]) for key in value if key not in _PARTS}
        return Reading((make_artifact(entry.key, value, metadata),))


def make_artifact(id: str, parts: Mapping[str, Any], metadata: Mapping[str, Any]) -> Artifact:
    """Make an artifact of named parts; its body is the text, else name and description.

    Raises SourceError when one of the parts is not text.
    """
    for key in _PARTS:
        if not isinstance(parts.get(key, ""), str):
            raise SourceError(f"{id}: {key!r} is not text", "give it as a string")
    raw = {"name": id, **parts}
    described = f"{raw['name']}\n\n{raw.get('description', '')}".strip()
    body = raw.get("text") or described
    return Artifact(id, raw, raw["name"], metadata=metadata, body=body)


def stamp_content(value: object) -> str:
    """Fingerprint a value by its content, regardless of the order of its keys."""
    return hashlib.sha256(write_canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def write_canonical_json(value: object) -> str:
    """Write a value as JSON in the one form that equal values share."""
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=_simplify_object)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def simplify(value: object) -> Any:
    """Return a value as what JSON can hold, foreign objects as their text."""
    try:
        return json.loads(json.dumps(value, default=_simplify_object))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _simplify_object(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
