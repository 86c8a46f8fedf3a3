"""The source of a corpus, with the name and strategy of the corpus to build."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from irclient.errors import QueryError
from irdaemon.config.corpus import KINDS, find_known_roots
from irdaemon.config.sections import KNOWN_KINDS
from irdaemon.runtime.plugins import load
from irdaemon.source import SOURCES, Source
from irdaemon.source.mapping import Fetcher, simplify, stamp_content
from irdaemon.source.mcp_tools import is_tool, read_definition
from irdaemon.strategy import ClaudeTurn, IndexingStrategy, Skill, WholeText, strategy_from_spec
from irdaemon.types import Artifact, Entry, Reading, Root, Scan, SourceError

# A source with the caller's functions, for further fields and for change detection.

# Takes (id, raw content); returns further filter fields.
MetadataOf = Callable[[str, Any], Mapping[str, Any]]
# Takes (id, raw content); returns a text that stays equal while nothing changes.
ChangeSignal = Callable[[str, Any], str]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Serve another source's entries, with fields by `metadata_of`, stamped by `change_signal`.

    With a `change_signal`, a scan reads every entry to compute it; without, stamps are the
    source's.
    """

    inner: Source
    metadata_of: MetadataOf | None = None
    change_signal: ChangeSignal | None = None
    limits: ClassVar[tuple[str, ...]] = ()

    def roots(self) -> tuple[Root, ...]:
        """Return the source's roots."""
        return self.inner.roots()

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the source's entries."""
        found = self.inner.scan(under)
        if self.change_signal is None:
            return found
        return replace(found, entries=tuple(map(self._stamp, found.entries)))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one entry, with its further fields."""
        reading = self.inner.read(entry, cursor)
        if self.metadata_of is None:
            return reading
        return replace(reading, artifacts=tuple(map(self._add_fields, reading.artifacts)))

    def _stamp(self, entry: Entry) -> Entry:
        assert self.change_signal is not None
        try:
            artifacts = self.inner.read(entry).artifacts
        except (OSError, SourceError):
            return entry  # reading it will fail again, and is reported there
        signals = [str(self.change_signal(each.artifact_id, each.raw)) for each in artifacts]
        return replace(entry, stamp=stamp_content(signals), mtime_ns=0)

    def _add_fields(self, artifact: Artifact) -> Artifact:
        assert self.metadata_of is not None
        try:
            fields = dict(self.metadata_of(artifact.artifact_id, artifact.raw))
        except Exception as error:  # the caller's code may raise anything
            reason = f"metadata_of: {type(error).__name__}: {error}"
            raise SourceError(f"{artifact.artifact_id}: {reason}") from error
        further = {str(name): simplify(value) for name, value in fields.items()}
        return replace(artifact, metadata={**artifact.metadata, **further})


# Lists of documents, converted into the mapping by id that a source serves.

# The parts of an artifact, which cannot be names of fields.
_PARTS = ("name", "description", "text")
_BESIDE = ("id", "meta")


def key_documents(items: Sequence[str | Mapping[str, Any]]) -> dict[str, str | dict[str, Any]]:
    """Return texts, or mappings of id, text, meta and further parts, by their ids.

    An item without an id gets its position, from 0. Raises QueryError, naming the position from 1.
    """
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        kind = type(items).__name__
        raise QueryError(f"documents are a mapping or a list, not a {kind}", "put it into a list")
    found: dict[str, str | dict[str, Any]] = {}
    for at, item in enumerate(items):
        where = f"document {at + 1} of {len(items)}"
        id = _check_id(item, at, where)
        if id in found:
            raise QueryError(f"{where} has the id {id!r} of another one", "give each its own")
        found[id] = item if isinstance(item, str) else _check_parts(item, where)
    return found


def _check_id(item: object, at: int, where: str) -> str:
    if not isinstance(item, (str, Mapping)):
        raise QueryError(f"{where} is neither a text nor a mapping: it is a {type(item).__name__}")
    id = item.get("id", str(at)) if isinstance(item, Mapping) else str(at)
    if not isinstance(id, str) or not id:
        raise QueryError(f"{where}: its id is not text: {id!r:.60}")
    return id


def _check_parts(item: Mapping[str, Any], where: str) -> dict[str, Any]:
    meta = item.get("meta") or {}
    if not isinstance(meta, Mapping):
        raise QueryError(f"{where}: its meta is not a mapping but a {type(meta).__name__}")
    if taken := [key for key in _PARTS if key in meta]:
        raise QueryError(f"{where}: its meta has {taken[0]!r}", f"give {taken[0]} beside the text")
    if not any(item.get(part) for part in _PARTS):
        raise QueryError(f"{where} has no text")
    return {**meta, **{key: value for key, value in item.items() if key not in _BESIDE}}


Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class FromRoots(Protocol):
    """Make the source of a corpus of one kind; its default name is the kind."""

    def __call__(
        self,
        roots: Paths = (),
        *,
        name: str = "",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Make the source from `roots`, by default the usual places of the kind."""
        ...


_DOCS = {
    "skills": "Take the SKILL.md trees under `roots`, by default those of the agents here.",
    "packages": "Take the packages under `roots`, by default the usual places of this machine.",
    "sessions": "Take the turns of coding sessions, by default those kept by the agents here.",
    "files": "Take the documents under `roots`; `options`: `pattern`, `exclude`, `gitignore`.",
    "code": "Take the symbols of programs under `roots`; `options`: those of files, `generated`.",
    "reports": "Take the Markdown reports of the projects under `roots`, by default `~/code` ...",
}


def _from_roots(kind: str) -> FromRoots:
    def make(
        roots: Paths = (),
        *,
        name: str = "",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        if not roots and kind == "reports":
            roots = [each.path for each in find_known_roots("packages") if each.scope == "project"]
        if not roots and kind not in KNOWN_KINDS:
            raise QueryError(f"{kind} have no usual place", "say which roots to search")
        return _make_source(kind, roots, name or kind, strategy, options)

    make.__doc__ = _DOCS[kind]
    return make


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A source, and its corpus' name and strategy. Made by the `from_` functions.

    `options`, with its roots, can rebuild it elsewhere; None if it is in memory. `metadata_of(id,
    raw)` returns further filter fields. If `change_signal(id, raw)` is given, an equal text means
    unchanged, and each build reads everything to compute it.
    """

    name: str
    kind: str
    source: Source
    strategy: IndexingStrategy
    options: Mapping[str, object] | None = None
    metadata_of: MetadataOf | None = None
    change_signal: ChangeSignal | None = None

    @property
    def adjusted(self) -> Source:
        """Return the source as it is indexed, with the caller's functions applied."""
        if self.metadata_of is None and self.change_signal is None:
            return self.source
        return Adjusted(self.source, self.metadata_of, self.change_signal)

    @property
    def scope(self) -> dict[str, str | Mapping[str, Any]]:
        """Return the raw content of the whole source by id, without unreadable entries."""
        return dict(self.items())

    def items(self) -> Iterator[tuple[str, str | Mapping[str, Any]]]:
        """Yield the id and the raw content of each artifact, reading one entry at a time."""
        for entry in self.source.scan().entries:
            try:
                artifacts = self.source.read(entry).artifacts
            except (OSError, SourceError):
                continue  # a build reports it, with the reason
            yield from ((each.artifact_id, each.raw) for each in artifacts)

    from_skills: ClassVar[FromRoots] = staticmethod(_from_roots("skills"))
    from_packages: ClassVar[FromRoots] = staticmethod(_from_roots("packages"))
    from_sessions: ClassVar[FromRoots] = staticmethod(_from_roots("sessions"))
    from_files: ClassVar[FromRoots] = staticmethod(_from_roots("files"))
    from_code: ClassVar[FromRoots] = staticmethod(_from_roots("code"))
    from_md_reports: ClassVar[FromRoots] = staticmethod(_from_roots("reports"))

    @classmethod
    def from_claude_sessions(
        cls,
        *,
        name: str = "sessions",
        since: float | None = 90,
        root: str | os.PathLike[str] | None = None,
        include_full: bool = False,
        strategy: IndexingStrategy | None = None,
    ) -> CorpusSource:
        """Take the turns of Claude Code from the last `since` days; None: all.

        `root` is by default `~/.claude/projects`. A filter on `project` or `cwd` finds the turns of
        one project.
        """
        options = {"since_days": math.ceil(since)} if since else {}
        turns = strategy or ClaudeTurn(include_full=include_full)
        roots = root or os.path.expanduser("~/.claude/projects")
        return cls.from_sessions(roots, name=name, strategy=turns, options=options)

    @classmethod
    def from_mapping(
        cls,
        mapping: Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        name: str,
        strategy: IndexingStrategy | None = None,
        metadata_of: MetadataOf | None = None,
        change_signal: ChangeSignal | None = None,
    ) -> CorpusSource:
        """Take {id: text} or {id: {name, description, text, ...}}; other keys are filter fields.

        A `text` next to a description is the body: read by the lexical leg, not embedded. In a list
        of texts or such mappings, an item's id is its `id`, else its position from 0, and the keys
        of its `meta` are filter fields too.
        """
        if not isinstance(mapping, Mapping):
            mapping = key_documents(mapping)
        described = any(isinstance(v, Mapping) and "description" in v for v in mapping.values())
        source = load("source", "mapping", SOURCES)(mapping)
        default = Skill() if described else WholeText()
        made = cls(name, "mapping", source, strategy or default)
        return replace(made, metadata_of=metadata_of, change_signal=change_signal)

    @classmethod
    def from_records(
        cls,
        fetcher: str | Fetcher,
        *,
        name: str,
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the records that a function or "module:attr" yields.

        `options` may name id, text and fields.
        """
        if isinstance(fetcher, str):
            return _make_source(
                "records", (), name, strategy, {"fetcher": fetcher, **(options or {})}
            )
        source = load("source", "records", SOURCES).from_function(fetcher, options or {})
        return cls(name, "records", source, strategy or WholeText())

    @classmethod
    def from_mcp_tools(
        cls,
        tools: Paths | Sequence[object] | Mapping[str, object] | Callable[[], Any],
        *,
        name: str = "tools",
        strategy: IndexingStrategy | None = None,
        metadata_of: MetadataOf | None = None,
    ) -> CorpusSource:
        """Take tools as in MCP's tools/list, or JSON files with such lists.

        Tools are definitions, each a mapping with a name, or a mapping of names to definitions. A
        definition may also be an object with such attributes, and `tools` a function that returns
        them.
        """
        if metadata_of is not None:
            plain = cls.from_mcp_tools(tools, name=name, strategy=strategy)
            return replace(plain, metadata_of=metadata_of)
        if callable(tools):
            return cls.from_mcp_tools(list(tools()), name=name, strategy=strategy)
        if isinstance(tools, (str, os.PathLike)):
            return _make_source("mcp_tools", tools, name, strategy, None)
        given = _name_tools(tools) if isinstance(tools, Mapping) else list(tools)
        paths = [each for each in given if isinstance(each, (str, os.PathLike))]
        if len(paths) == len(given) and not isinstance(tools, Mapping):
            return _make_source("mcp_tools", paths, name, strategy, None)
        source = load("source", "mcp_tools", SOURCES).from_tools(_check_definitions(given))
        return cls(name, "mcp_tools", source, strategy or Skill())


def _name_tools(tools: Mapping[str, Any]) -> list[object]:
    """Return definitions by name as definitions with names in them."""
    given = ((name, read_definition(each, name)) for name, each in tools.items())
    return [{"name": name, **each} if isinstance(each, Mapping) else each for name, each in given]


def _check_definitions(tools: Sequence[object]) -> list[Mapping[str, Any]]:
    """Check the definitions of tools. Raises QueryError naming the position of an invalid one."""
    tools = [read_definition(tool) for tool in tools]
    for position, tool in enumerate(tools, start=1):
        if not is_tool(tool):
            kind = "one without a name" if isinstance(tool, Mapping) else f"a {type(tool).__name__}"
            raise QueryError(
                f"tool {position} of {len(tools)} is not a definition but {kind}",
                "give a list of mappings with a name, or a mapping of names to such",
            )
    return [tool for tool in tools if is_tool(tool)]


def _make_source(
    kind: str,
    roots: Paths,
    name: str,
    strategy: IndexingStrategy | None,
    options: Mapping[str, object] | None,
) -> CorpusSource:
    chosen = [roots] if isinstance(roots, (str, os.PathLike)) else list(roots)
    paths = [os.path.abspath(os.path.expanduser(os.fspath(root))) for root in chosen]
    places = tuple(Root(path) for path in paths) or find_known_roots(kind)
    source = load("source", kind, SOURCES)(places, options or {})
    default = strategy_from_spec(KINDS[kind].strategy)
    assert default is not None  # every kind has one
    return CorpusSource(name, kind, source, strategy or default, dict(options or {}))
