"""Mappings: texts that live in the memory of the program using the library."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from irclient.errors import QueryError
from irdaemon.source.options import read_options
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


# Records: the results of a user's own function.

_OPTIONS = {"fetcher": "", "id_key": "id", "text_key": "text", "metadata_keys": []}

Record = Mapping[str, Any]
Fetcher = Callable[[], Iterable[Record]]


class Records:
    """Serve the records that a configured callable or iterable yields, each a mapping.

    Options: `fetcher`, "module:attribute" (required; it runs with the daemon's rights); `id_key`
    ("id"); `text_key` ("text"); `metadata_keys`, the keys to filter on. The fetcher is asked
    once a scan; its records are kept until the next, so that reading does not ask again.
    When it fails, or returns nothing, the known records stay.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        given = read_options("records", options, _OPTIONS)
        self._fetcher: str = given["fetcher"]
        self._id_key: str = given["id_key"]
        self._text_key: str = given["text_key"]
        self._metadata_keys: tuple[str, ...] = given["metadata_keys"]
        self._fetched: dict[str, Record] = {}
        self._function: Fetcher | None = None
        module, _, attribute = self._fetcher.partition(":")
        if not module or not attribute:
            raise QueryError(
                f"records: option 'fetcher' must be 'module:attribute', not {self._fetcher!r}",
                "name a callable or an iterable of mappings",
            )

    @classmethod
    def from_function(cls, function: Fetcher, options: Mapping[str, object]) -> Self:
        """Serve the records that a function held in memory yields; `options` without `fetcher`."""
        if not callable(function):
            raise QueryError(
                f"a fetcher is a function or 'module:attribute', not {function!r:.60}",
                "give a function that returns mappings",
            )
        name = f"{function.__module__}:{getattr(function, '__qualname__', 'fetcher')}"
        source = cls((), {**options, "fetcher": name})
        source._function = function
        return source

    def roots(self) -> tuple[Root, ...]:
        """Return nothing: records change at the next full scan, never by an event."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Ask the fetcher; each record without a usable or with a repeated id is a problem."""
        if under is not None:
            return Scan((), ())
        try:
            records = list(_iterate(self._function or _import_fetcher(self._fetcher)))
        except Exception as error:  # the user's code may raise anything
            return self._make_failed_scan(f"{type(error).__name__}: {error}")
        if not records:
            return self._make_failed_scan("returned no records; those known before are kept")
        self._fetched, problems = self._add_keys(records)
        entries = [Entry(id, "", stamp_content(self._fetched[id])) for id in sorted(self._fetched)]
        return Scan(tuple(entries), ("",), tuple(problems))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Return one record of those fetched by the last scan."""
        if entry.key not in self._fetched:
            self.scan()
        record = self._fetched.get(entry.key)
        if record is None:
            raise FileNotFoundError(entry.key)
        metadata = {key: simplify(record[key]) for key in self._metadata_keys if key in record}
        return Reading((make_artifact(entry.key, self._make_parts(record), metadata),))

    def _make_parts(self, record: Record) -> dict[str, Any]:
        parts = {str(key): simplify(record[key]) for key in record}
        if self._text_key in record:
            parts["text"] = parts[self._text_key]
        if isinstance(parts.get("title"), str):
            parts.setdefault("name", parts["title"])
        return parts

    def _add_keys(self, records: list[Any]) -> tuple[dict[str, Record], list[Problem]]:
        found: dict[str, Record] = {}
        problems: list[Problem] = []
        for position, record in enumerate(records):
            id = record.get(self._id_key) if isinstance(record, Mapping) else None
            if not isinstance(id, str | int) or id == "":
                problems.append(self._make_problem(position, record))
            elif str(id) in found:
                problems.append(Problem(str(id), "a second record with this id; the first counts"))
            else:
                found[str(id)] = record
        return found, problems

    def _make_problem(self, position: int, record: object) -> Problem:
        kind = type(record).__name__
        reason = f"no {self._id_key!r}" if isinstance(record, Mapping) else f"{kind}, not a mapping"
        return Problem(f"record {position} of {self._fetcher}", reason)

    def _make_failed_scan(self, reason: str) -> Scan:
        return Scan((), (), (Problem(self._fetcher, reason),))


def _import_fetcher(fetcher: str) -> Any:
    module, _, attribute = fetcher.partition(":")
    found: Any = importlib.import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    return found


def _iterate(found: Any) -> Iterator[Any]:
    records = found() if callable(found) else found
    if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
        raise SourceError(f"a {type(records).__name__}, not an iterable of mappings")
    return iter(records)
