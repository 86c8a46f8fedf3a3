"""The library: build, search, select, disclose and discover in process.

`build` indexes a source into a ledger of its own and gives a handle; the others take the handle,
or the name of a corpus built before. The same Engine as in the daemon does the work, on the
caller's thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.config.config import KNOWN_KINDS, state_dir
from irdaemon.config.corpus import DEFAULT_STRATEGIES, Corpus, known_roots
from irdaemon.disclosure.disclose import with_passage
from irdaemon.disclosure.expand import Expand, Policy, by_policy, expanded, parse_expand
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.runtime.plugins import load
from irdaemon.selection import strategies as selection
from irdaemon.selection.strategies import Choice, Selector
from irdaemon.source import SOURCES, Source
from irdaemon.strategy import IndexingStrategy, Skill, WholeText, strategy_from_spec
from irdaemon.types import NAME, Disclosure, Hit, Query, Root, Selection, SelectSpec

_DEFAULT_EMBEDDER = "wordllama"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class FromRoots(Protocol):
    """Make the source of a corpus of one kind, its name that of the kind where none is given."""

    def __call__(
        self,
        roots: Paths = (),
        *,
        name: str = "",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take what lies under `roots`, by default in the usual places of the kind."""
        ...


def _from_roots(kind: str, doc: str) -> FromRoots:
    def make(
        roots: Paths = (),
        *,
        name: str = "",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        if not roots and kind not in KNOWN_KINDS:
            raise QueryError(f"{kind} have no usual place", "say which roots to search")
        return _of_kind(kind, roots, name or kind, strategy, options)

    make.__doc__ = doc
    return make


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A source with the name and strategy its corpus will have. Made by the `from_` functions."""

    name: str
    kind: str
    source: Source
    strategy: IndexingStrategy

    from_skills: ClassVar[FromRoots] = staticmethod(
        _from_roots(
            "skills",
            "Take the SKILL.md trees under `roots`, by default those of the agents installed here.",
        )
    )
    from_packages: ClassVar[FromRoots] = staticmethod(
        _from_roots(
            "packages",
            "Take the packages under `roots`, by default the usual places of this machine.",
        )
    )
    from_sessions: ClassVar[FromRoots] = staticmethod(
        _from_roots(
            "sessions",
            "Take the turns of coding sessions, by default those kept by the agents here.",
        )
    )
    from_files: ClassVar[FromRoots] = staticmethod(
        _from_roots(
            "files",
            "Take the documents under `roots`; `options`: `pattern`, `exclude`, `gitignore`.",
        )
    )
    from_md_reports: ClassVar[FromRoots] = staticmethod(
        _from_roots(
            "reports",
            "Take the Markdown reports of the projects under `roots` (`*/*/docs` and the like).",
        )
    )

    @classmethod
    def from_mapping(
        cls,
        mapping: Mapping[str, Any],
        *,
        name: str,
        strategy: IndexingStrategy | None = None,
    ) -> CorpusSource:
        """Take {id: text} or {id: {name, description, text, ...}}; other keys are filter fields.

        A `text` beside a description is the body: read by the lexical leg, not embedded.
        """
        described = any(isinstance(v, Mapping) and "description" in v for v in mapping.values())
        source = load("source", "mapping", SOURCES)(mapping)
        return cls(name, "mapping", source, strategy or (Skill() if described else WholeText()))

    @classmethod
    def from_records(
        cls,
        fetcher: str,
        *,
        name: str,
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the records that "module:attr" yields; `options` may name id, text and fields."""
        return _of_kind("records", (), name, strategy, {"fetcher": fetcher, **(options or {})})

    @classmethod
    def from_mcp_tools(
        cls,
        tools: Paths | Sequence[Mapping[str, Any]],
        *,
        name: str = "tools",
        strategy: IndexingStrategy | None = None,
    ) -> CorpusSource:
        """Take tools as MCP's tools/list gives them, or the JSON files that hold such lists."""
        if isinstance(tools, (str, os.PathLike)):
            return _of_kind("mcp_tools", tools, name, strategy, None)
        given = [tool for tool in tools if isinstance(tool, Mapping)]
        if not given:
            paths = [tool for tool in tools if not isinstance(tool, Mapping)]
            return _of_kind("mcp_tools", paths, name, strategy, None)
        source = load("source", "mcp_tools", SOURCES).from_tools(given)
        return cls(name, "mcp_tools", source, strategy or Skill())


def _of_kind(
    kind: str,
    roots: Paths,
    name: str,
    strategy: IndexingStrategy | None,
    options: Mapping[str, object] | None,
) -> CorpusSource:
    chosen = [roots] if isinstance(roots, (str, os.PathLike)) else list(roots)
    paths = [os.path.abspath(os.path.expanduser(os.fspath(root))) for root in chosen]
    places = tuple(Root(path) for path in paths) or known_roots(kind)
    source = load("source", kind, SOURCES)(places, options or {})
    default = strategy_from_spec(DEFAULT_STRATEGIES[kind])
    assert default is not None  # every kind has one
    return CorpusSource(name, kind, source, strategy or default)


class Built:
    """A corpus built in this process: its name, its engine, and what the last build did."""

    def __init__(self, name: str, engine: Engine, report: str):
        self.name = name
        self.engine = engine
        self.report = report

    def __repr__(self) -> str:
        return f"<corpus {self.name!r}: {self.report}>"

    def search(self, query: Query | str) -> Selection:
        """Return the ranked candidates of a query; see `irdaemon.evaluate.Searcher`."""
        return self.engine.search(query)

    def discover(self, query: Query | str) -> Selection:
        """Return the few that answer a query, or an abstention."""
        return self.engine.discover(query)

    def close(self) -> None:
        """Close the ledger behind it."""
        _open.pop(self.name, None)
        self.engine.ledger.close()


_open: dict[str, Built] = {}


def build(
    source: CorpusSource,
    *,
    store: str | None = None,
    embedder: str = _DEFAULT_EMBEDDER,
    full: bool = False,
    prune: bool = False,
) -> Built:
    """Index a source, reading only what changed since the last build of that name.

    `store` is the ledger file; by default one per corpus in the state directory, ":memory:" for
    none at all. `full` reads everything again; `prune` forgets what an empty root no longer has.
    """
    if not NAME.match(source.name):
        raise QueryError(f"{source.name!r} is no name for a corpus", "use letters, digits, - _ .")
    corpus = Corpus(source.name, source.kind, source.source, source.strategy, embedder)
    if (known := _open.get(source.name)) is not None:
        known.close()
    engine = Engine(Ledger(store or _store_of(source.name)), [corpus])
    number = engine.request(Job("reconcile", source.name, ScanRequest(full=full, prune=prune)))
    engine.drain()
    done = engine.progress(number)
    if done.state == "failed":
        engine.ledger.close()
        raise Unavailable(f"corpus {source.name!r} could not be built: {done.report}")
    built = Built(source.name, engine, done.report)
    _open[source.name] = built
    return built


def open_corpus(name: str) -> Built:
    """Return a corpus that was built in this process.

    Raises NotFound for one that was not: a ledger does not say what its source is.
    """
    if name not in _open:
        raise NotFound(
            f"no corpus {name!r} was built in this process",
            f"built here: {', '.join(sorted(_open)) or 'none'}",
        )
    return _open[name]


def search(
    corpus: Built | str,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
) -> tuple[Hit, ...]:
    """Return the `k` best artifacts of a corpus, best first, without selection."""
    asked = Query(
        query,
        k=k,
        mode=mode,
        where=filter or {},
        surfaces=tuple(surfaces),
        fusion=fusion,
        weights=surface_weights or {},
    )
    return _built(corpus).engine.search(asked).results


def select(
    hits: Sequence[Hit],
    *,
    strategy: str | Selector = "conservative",
    max_k: int = 3,
    rel: float = 0.9,
    gap_ratio: float = 0.5,
    min_score: float | str | None = "auto",
) -> Choice:
    """Commit to few of the hits, or to none; a callable strategy takes hits and returns some."""
    spec, custom = _spec(strategy, max_k, rel, gap_ratio, min_score)
    selection.check_spec(spec, custom)
    return selection.select(hits, spec, custom)


def discover(
    corpus: Built | str,
    query: str,
    *,
    k: int = 10,
    mode: str = "hybrid",
    strategy: str | Selector = "conservative",
    disclose_level: str = "metadata",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] = (),
    fusion: str = "standard",
    surface_weights: Mapping[str, float] | None = None,
    expand: str = "none",
    max_k: int = 3,
    rel: float = 0.9,
    gap_ratio: float = 0.5,
    min_score: float | str | None = "auto",
) -> Selection:
    """Search, select and disclose: few hits, or none with a typed reason."""
    spec, custom = _spec(strategy, max_k, rel, gap_ratio, min_score)
    asked = Query(
        query,
        k=k,
        mode=mode,
        where=filter or {},
        surfaces=tuple(surfaces),
        select=spec,
        level=disclose_level,
        expand=expand,
        fusion=fusion,
        weights=surface_weights or {},
    )
    return _built(corpus).engine.discover(asked, custom)


def disclose(
    chosen: Choice | Selection | Sequence[Hit],
    *,
    level: str = "body",
    expand: str | Policy = "none",
    loader: Callable[[Mapping[str, Any]], str] | None = None,
    store: Mapping[str, str] | None = None,
) -> list[Disclosure]:
    """Return the payload of selected hits, in their order; the hits stay as they are.

    `expand` is as on a Query, or a function (records, seed) -> records. The body comes from
    `loader` (fields -> text) or `store` (pointer -> text) where one of them is given.
    """
    if loader is not None and store is not None:
        raise QueryError("give a loader or a store, not both")
    hits = chosen if isinstance(chosen, Sequence) else _hits(chosen)
    extent = expand if callable(expand) else parse_expand(expand)
    body_of = _body_of(loader, store)
    return [_with_passage(_payload(hit, level, body_of), hit, extent) for hit in hits]


def _body_of(
    loader: Callable[[Mapping[str, Any]], str] | None, store: Mapping[str, str] | None
) -> Callable[[Hit], str | None] | None:
    """Return how the caller's own place gives a hit's body; None where there is no such place."""
    if loader is not None:
        return lambda hit: loader(hit.fields)
    return None if store is None else lambda hit: store.get(hit.pointer)


def _payload(hit: Hit, level: str, body_of: Callable[[Hit], str | None] | None) -> Disclosure:
    engine, reference = open_corpus(hit.corpus).engine, f"{hit.corpus}/{hit.artifact_id}"
    (found,) = engine.disclose([reference], level if body_of is None else "metadata")
    if body_of is None or level == "metadata":
        return found
    body = body_of(hit)
    note = "" if body is not None else "pointer_unreadable"
    return replace(found, level=level, body=body, note=note)


def _with_passage(found: Disclosure, hit: Hit, extent: Expand | Policy | None) -> Disclosure:
    if extent is None:
        return found
    records = records_for_artifact(hit.corpus, hit.artifact_id)
    if isinstance(extent, Expand):
        return with_passage(found, expanded(records, hit.surface_index, extent))
    return with_passage(found, by_policy(records, hit.surface_index, extent))


def records_for_artifact(corpus: Built | str, artifact_id: str) -> list[dict[str, Any]]:
    """Return the stored records of an artifact in plan order: the way to its siblings."""
    built = _built(corpus)
    return built.engine.records(f"{built.name}/{artifact_id}")


def _hits(chosen: Choice | Selection) -> Sequence[Hit]:
    return chosen.results if isinstance(chosen, Selection) else chosen.hits


def _built(corpus: Built | str) -> Built:
    return corpus if isinstance(corpus, Built) else open_corpus(corpus)


def _spec(
    strategy: str | Callable[[Sequence[Hit]], Sequence[Hit]],
    max_k: int,
    rel: float,
    gap_ratio: float,
    min_score: float | str | None,
) -> tuple[SelectSpec, Selector | None]:
    name, custom = (strategy, None) if isinstance(strategy, str) else ("conservative", strategy)
    return SelectSpec(name, max_k, rel, gap_ratio, min_score), custom


def _store_of(name: str) -> str:
    return os.path.join(state_dir(), "library", f"{name}.sqlite")
