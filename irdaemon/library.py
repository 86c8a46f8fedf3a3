"""The library face: build, search, select, disclose and discover in process.

`build` indexes a source into a ledger of its own and gives a handle; the others take the handle,
or the name of a corpus built before. The same Engine as in the daemon does the work, on the
caller's thread.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.config.config import state_dir
from irdaemon.config.corpus import DEFAULT_STRATEGIES, Corpus, known_roots
from irdaemon.disclosure.disclose import with_passage
from irdaemon.disclosure.expand import Policy, by_policy, expanded, parse_expand
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.runtime.plugins import load
from irdaemon.selection import strategies as selection
from irdaemon.selection.strategies import Choice, Selector
from irdaemon.source import SOURCES, Source
from irdaemon.strategy import IndexingStrategy, Skill, WholeText, strategy_from_spec
from irdaemon.types import Disclosure, Hit, Query, Root, Selection, SelectSpec

_DEFAULT_EMBEDDER = "wordllama"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """A source with the name and strategy its corpus will have. Made by the `from_` methods."""

    name: str
    kind: str
    source: Source
    strategy: IndexingStrategy

    @classmethod
    def from_skills(
        cls,
        roots: Paths = (),
        *,
        name: str = "skills",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the SKILL.md trees under `roots`, by default those of the agents installed here."""
        return _of_kind("skills", roots, name, strategy, options)

    @classmethod
    def from_packages(
        cls,
        roots: Paths = (),
        *,
        name: str = "packages",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the packages under `roots`, by default the usual places of this machine."""
        return _of_kind("packages", roots, name, strategy, options)

    @classmethod
    def from_sessions(
        cls,
        roots: Paths = (),
        *,
        name: str = "sessions",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the turns of coding sessions, by default those kept by the agents here."""
        return _of_kind("sessions", roots, name, strategy, options)

    @classmethod
    def from_files(
        cls,
        roots: Paths,
        *,
        name: str = "files",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the documents under `roots`; `options` may set `pattern`, `exclude`, `gitignore`."""
        return _of_kind("files", roots, name, strategy, options)

    @classmethod
    def from_md_reports(
        cls,
        roots: Paths,
        *,
        name: str = "reports",
        strategy: IndexingStrategy | None = None,
        options: Mapping[str, object] | None = None,
    ) -> CorpusSource:
        """Take the Markdown reports of the projects under `roots` (`*/*/docs` and the like)."""
        return _of_kind("reports", roots, name, strategy, options)

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

    def search(self, query: Query) -> Selection:
        """Return the ranked candidates of a query; see `irdaemon.evaluate.Searcher`."""
        return self.engine.search(query)

    def discover(self, query: Query) -> Selection:
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
    if not _NAME.match(source.name):
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

    Raises NotFound for one that was not: a source cannot be told from its ledger.
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
    wish = Query(
        query,
        k=k,
        mode=mode,
        where=filter or {},
        surfaces=tuple(surfaces),
        fusion=fusion,
        weights=surface_weights or {},
    )
    return _built(corpus).engine.search(wish).results


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
    wish = Query(
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
    return _built(corpus).engine.discover(wish, custom)


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
    return [_disclosed(hit, level, expand, loader, store) for hit in hits]


def _disclosed(
    hit: Hit,
    level: str,
    expand: str | Policy,
    loader: Callable[[Mapping[str, Any]], str] | None,
    store: Mapping[str, str] | None,
) -> Disclosure:
    engine, reference = open_corpus(hit.corpus).engine, f"{hit.corpus}/{hit.artifact_id}"
    own = loader is not None or store is not None
    (found,) = engine.disclose([reference], "metadata" if own else level)
    if own and level != "metadata":
        body = loader(hit.fields) if loader else (store or {}).get(hit.pointer)
        note = "" if body is not None else "pointer_unreadable"
        found = replace(found, level=level, body=body, note=note)
    if callable(expand):
        return with_passage(found, by_policy(engine.records(reference), hit.surface_index, expand))
    if (wish := parse_expand(expand)) is None:
        return found
    return with_passage(found, expanded(engine.records(reference), hit.surface_index, wish))


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


def ranked_in_memory(items: Mapping[str, Any]) -> Callable[[str, int], list[str]]:
    """Index items in memory and return how they are ranked: for `distractor_robustness_curve`."""
    source = CorpusSource.from_mapping(items, name="scope")
    corpus = Corpus("scope", "mapping", source.source, source.strategy, _DEFAULT_EMBEDDER)
    engine = Engine(Ledger(":memory:"), [corpus], EngineOptions(calibrating=False))
    engine.request(Job("reconcile", "scope"))
    engine.drain()
    return lambda query, k: [hit.artifact_id for hit in engine.search(Query(query, k=k)).results]
