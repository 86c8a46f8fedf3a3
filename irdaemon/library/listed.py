"""Lists of documents as the mapping by id that a source serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irclient.errors import QueryError

# What a source reads as parts of an artifact, and no field may be called.
_PARTS = ("name", "description", "text")
_BESIDE = ("id", "meta")


def by_id(items: Sequence[str | Mapping[str, Any]]) -> dict[str, str | dict[str, Any]]:
    """Return texts, or mappings of id, text, meta and further parts, by their ids.

    An item without an id has its place, from 0. Raises QueryError, naming the place from 1.
    """
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        kind = type(items).__name__
        raise QueryError(f"documents are a mapping or a list, not a {kind}", "put it into a list")
    found: dict[str, str | dict[str, Any]] = {}
    for at, item in enumerate(items):
        where = f"document {at + 1} of {len(items)}"
        id = _id(item, at, where)
        if id in found:
            raise QueryError(f"{where} has the id {id!r} of another one", "give each its own")
        found[id] = item if isinstance(item, str) else _parts(item, where)
    return found


def _id(item: object, at: int, where: str) -> str:
    if not isinstance(item, (str, Mapping)):
        kind = type(item).__name__
        raise QueryError(f"{where} is neither a text nor a mapping: it is a {kind}")
    id = item.get("id", str(at)) if isinstance(item, Mapping) else str(at)
    if not isinstance(id, str) or not id:
        raise QueryError(f"{where}: its id is no text: {id!r:.60}")
    return id


def _parts(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    meta = item.get("meta") or {}
    if not isinstance(meta, Mapping):
        raise QueryError(f"{where}: its meta is no mapping but a {type(meta).__name__}")
    if taken := [key for key in _PARTS if key in meta]:
        raise QueryError(f"{where}: its meta has {taken[0]!r}", f"give {taken[0]} beside the text")
    if not any(item.get(part) for part in _PARTS):
        raise QueryError(f"{where} has no text")
    return {**meta, **{key: value for key, value in item.items() if key not in _BESIDE}}
