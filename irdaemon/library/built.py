"""Corpora built or opened in this process: handles, registered by name and by ledger.

A hit names its corpus by a `HitCorpus`, so that it leads to the ledger that it was found in, even
if another corpus of that name is built later.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon import __version__
from irdaemon.config.config import state_dir
from irdaemon.config.corpus import Corpus
from irdaemon.embed import make_embedder
from irdaemon.embed.models import adopt_embedder
from irdaemon.embed.pool import Absent, OnDemand
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import FORMAT, Ledger, LedgerError
from irdaemon.library.corpus_source import CorpusSource
from irdaemon.runtime.plugins import load
from irdaemon.source import SOURCES
from irdaemon.source.mapping import InMemory
from irdaemon.strategy import (
    DECOMPOSITION,
    STRATEGY_REGISTRY,
    IndexingStrategy,
    WholeText,
    build_recipe,
    strategy_from_spec,
    strategy_to_spec,
)
from irdaemon.strategy.edges import EdgeExtractor
from irdaemon.text import ANALYZER
from irdaemon.types import NAME, Hit, Query, Root, Selection

# The sources of corpora as plain data in their ledgers, so that another program can open them.

# The version of the rules for indexing and searching a corpus. Other releases may have others.
_RULES = [ANALYZER, DECOMPOSITION]
_PLAIN = ("version", "kind", "embedder", "options", "strategy", "why_not", "is_object")
_IN_MEMORY = "its source lives in the memory of the program that built it"


@dataclass(frozen=True, slots=True)
class CorpusSpec:
    """The specification of a corpus' source.

    `version` is that of the irdaemon that built it. `options` and `roots` rebuild its source,
    `strategy` its strategy; `why_not` is why they cannot rebuild it, "" if they can. `is_object` is
    whether the embedder is an object of that program; `embedder` is then its id.
    """

    version: str
    kind: str
    embedder: str
    roots: tuple[Root, ...]
    options: Mapping[str, Any]
    strategy: Mapping[str, Any]
    why_not: str = ""
    is_object: bool = False

    @classmethod
    def describe(cls, source: CorpusSource, embedder: str, is_object: bool = False) -> CorpusSpec:
        """Describe a source, and an embedder by its name or id, as far as plain data can."""
        roots = source.source.roots()
        spec = strategy_to_spec(source.strategy)
        why_not = _explain_fixed(source, spec)
        options = source.options or {}
        return cls(__version__, source.kind, embedder, roots, options, spec, why_not, is_object)

    @classmethod
    def read(cls, name: str, given: Mapping[str, Any] | None) -> CorpusSpec:
        """Read a corpus' specification from a ledger.

        Raises Unavailable, with the version that built it, if this version cannot search it.
        """
        if given is None or given.get("rules") != _RULES:
            by = f"irdaemon {given['version']}" if given else "a version that did not say how"
            raise Unavailable(
                f"corpus {name!r} was built by {by}, whose rules irdaemon {__version__} does not"
                " search by",
                "build it again with this version",
            )
        roots = tuple(Root(*each) for each in given["roots"])
        return cls(**{name: given[name] for name in _PLAIN}, roots=roots)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification as plain data."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "rules": _RULES,
            "roots": [[root.path, root.scope, root.links] for root in self.roots],
            "options": {} if self.why_not == _IN_MEMORY else dict(self.options),
        }

    def make_source(self, name: str) -> CorpusSource:
        """Rebuild the source. Raises Unavailable if that is impossible."""
        if self.why_not:
            raise Unavailable(
                f"corpus {name!r} cannot be built again: {self.why_not}",
                "build it in the program that has its source",
            )
        strategy = strategy_from_spec(self.strategy)
        assert strategy is not None  # only a spec of None yields no strategy
        source = load("source", self.kind, SOURCES)(self.roots, self.options)
        return CorpusSource(name, self.kind, source, strategy, self.options)

    def make_corpus(self, name: str) -> Corpus:
        """Return the corpus with what answers need; its source is not read."""
        source = InMemory({}) if self.why_not else self.make_source(name).source
        return Corpus(name, self.kind, source, WholeText(), self.embedder)


def _explain_fixed(source: CorpusSource, spec: Mapping[str, Any]) -> str:
    """Return why plain data cannot rebuild a source, "" if it can."""
    if source.options is None:
        return _IN_MEMORY
    if source.metadata_of or source.change_signal:
        return "its metadata_of and change_signal are functions of the program that built it"
    if not _is_registered(source.strategy, spec):
        return f"its strategy {spec['name']} is not one that can be written down"
    try:
        json.dumps(source.options)
    except (TypeError, ValueError):
        return "its options are not plain data"
    return ""


def _is_registered(strategy: IndexingStrategy, spec: Mapping[str, Any]) -> bool:
    """Return whether its spec rebuilds a strategy unchanged."""
    if STRATEGY_REGISTRY.get(spec["name"]) is not type(strategy):
        return False
    made = strategy_from_spec(spec)
    return made is not None and build_recipe(made) == build_recipe(strategy)


_DEFAULT_EMBEDDER = "wordllama"
_MEMORY = ":memory:"
_PROBLEMS_SHOWN = 3


class HitCorpus(str):
    """The name of the corpus that a hit was found in, its ledger, and the time (Unix seconds)."""

    __slots__ = ("at", "ledger")

    ledger: str
    at: float

    @classmethod
    def mark(cls, built: Built) -> HitCorpus:
        """Name a corpus, for hits found just now."""
        named = cls(built.name)
        named.ledger, named.at = built.ledger, time.time()
        return named


class Built:
    """A corpus built or opened in this process: its name, its engine, and the last build's report.

    `ledger` identifies its ledger: the real path, or a unique name of one in memory. `again` builds
    the corpus again. Its length is the number of its artifacts.
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        report: str,
        ledger: str = "",
        again: Callable[[], Built] | None = None,
    ):
        self.name = name
        self.engine = engine
        self.report = report
        self.ledger = ledger
        self._again = again

    def __repr__(self) -> str:
        return f"<corpus {self.name!r}: {self.report}>"

    def __len__(self) -> int:
        return self.engine.snapshot.corpora[self.name].rows.n_artifacts

    def rebuild(self) -> Built:
        """Build the corpus again from its source, reading what changed; return the new handle.

        Raises Unavailable if this program does not have the source: a mapping in another program's
        memory, or a strategy that cannot be serialised.
        """
        if self._again is None:
            raise Unavailable(f"corpus {self.name!r} cannot be built again", "use build")
        return self._again()

    def search(self, query: Query | str) -> Selection:
        """Return the ranked candidates of a query; see `irdaemon.contrib.evaluate.Searcher`."""
        return self.engine.search(query)

    def discover(self, query: Query | str) -> Selection:
        """Return the few hits that answer a query, or an abstention."""
        return self.engine.discover(query)

    def own(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Return this corpus' hits as hits that lead back to it; others stay as they are."""
        named = HitCorpus.mark(self)
        return tuple(replace(hit, corpus=named) if hit.corpus == named else hit for hit in hits)

    def items(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the id of each artifact with its name and the text of its first record."""
        rows = self.engine.snapshot.corpora[self.name].rows
        for owner in rows.list_owners():
            card = rows.cards[owner]
            records = self.engine.records(f"{self.name}/{card.artifact_id}")
            text = records[0]["text"] if records else ""
            yield card.artifact_id, {"name": card.name, "text": text}

    def holds(self, artifact_id: str) -> bool:
        """Return whether the corpus has an artifact with exactly this id."""
        return self.engine.ledger.artifacts.get(self.name, artifact_id) is not None

    def close(self) -> None:
        """Close its ledger; a corpus built later under the same name stays open."""
        if _by_name.get(self.name) is self:
            del _by_name[self.name]
        if _by_ledger.get((self.ledger, self.name)) is self:
            del _by_ledger[self.ledger, self.name]
        self.engine.ledger.close()


_by_name: dict[str, Built] = {}
_by_ledger: WeakValueDictionary[tuple[str, str], Built] = WeakValueDictionary()


def build(
    source: CorpusSource,
    *,
    store: str | None = None,
    embedder: str | object = _DEFAULT_EMBEDDER,
    full: bool = False,
    prune: bool = False,
    edge_extractor: EdgeExtractor | None = None,
) -> Built:
    """Index a source, reading only what changed since the last build of that name.

    `store` is the ledger file; by default one per corpus in the state directory, ":memory:" for no
    file. `embedder` is a name, an object with `id` and `embed`, or a function from texts to vectors
    with an attribute `id`. `full` reads everything again; `prune` also removes the artifacts of a
    root that is now empty. A corpus of the same name in another ledger stays open for the holders
    of its handle. `edge_extractor` is a function (id, filter fields) -> {type: targets} that finds
    the links of every artifact, including unchanged ones; nothing is embedded for it.

    Raises Unavailable if the source cannot be read, or a strategy fails, and the ledger has nothing
    of the corpus; otherwise unreadable entries are in the handle's report, and a warning names
    those that could not be indexed.
    """
    if not NAME.match(source.name):
        raise QueryError(
            f"{source.name!r} is not a valid corpus name", "use letters, digits, - _ ."
        )
    named, options = _choose_embedder(embedder)
    corpus = Corpus(
        source.name,
        source.kind,
        source.adjusted,
        source.strategy,
        named,
        edge_extractor=edge_extractor,
    )
    full = full or edge_extractor is not None
    path = store or _locate_store(source.name)
    ledger = f"{_MEMORY}{uuid.uuid4().hex}" if path == _MEMORY else os.path.realpath(path)
    if (known := _by_ledger.get((ledger, source.name))) is not None:
        known.close()
    engine = Engine(Ledger(path), [corpus], options)
    spec = CorpusSpec.describe(source, named, bool(options.embedders))
    engine.ledger.corpora.put_spec(source.name, spec.to_dict())
    before = engine.snapshot.corpora[source.name].rows.n_artifacts
    number = engine.request(Job("reconcile", source.name, ScanRequest(full=full, prune=prune)))
    engine.drain()
    done, problems = engine.progress(number), _describe_problems(engine, source.name)
    held, failed = engine.snapshot.corpora[source.name].rows.n_artifacts, _describe_failures(engine)
    if done.state == "failed" or ((problems or (failed and not before)) and not held):
        engine.ledger.close()
        why = problems or failed or done.report
        raise Unavailable(f"corpus {source.name!r} could not be built: {why}")
    if failed:
        warnings.warn(f"corpus {source.name!r}: {failed}", stacklevel=2)
    report = f"{done.report}; not read: {problems}" if problems else done.report
    again = partial(build, source, store=store, embedder=embedder, edge_extractor=edge_extractor)
    return _register(Built(source.name, engine, report, ledger, again))


def _choose_embedder(given: str | object) -> tuple[str, EngineOptions]:
    """Return a corpus' name for its embedder, and engine options with that embedder."""
    if isinstance(given, str):
        return given, EngineOptions()
    made = adopt_embedder(given)
    return made.id, EngineOptions(embedders={made.id: made})


def _register(built: Built) -> Built:
    """Register a corpus by its name and by its ledger."""
    _by_name[built.name] = _by_ledger[built.ledger, built.name] = built
    return built


def _describe_problems(engine: Engine, name: str) -> str:
    """Describe the errors of scanning a corpus, the first few in full; "" without any."""
    problems = engine.ledger.corpora.read_state(name)[1]
    shown = [f"{problem.path}: {problem.reason}" for problem in problems[:_PROBLEMS_SHOWN]]
    more = len(problems) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])


def _describe_failures(engine: Engine) -> str:
    """Describe how many entries could not be indexed, and the first one's error; "" without any."""
    failures = engine.ledger.failures.list_all()
    if not failures:
        return ""
    first = f"{failures[0].path}: {failures[0].reason}"
    return f"{len(failures)} could not be indexed, the first {first}"


def open_corpus(name: str, *, store: str | None = None, embedder: object | None = None) -> Built:
    """Return a corpus that was built earlier, in this process or in another.

    A corpus of another process is opened read-only, as it is now; call again to see later builds.
    `store` is its ledger file if that is not the usual one. Queries are embedded by the embedder
    that it was built with; if that was an object, pass it as `embedder`, else only words are
    searched.

    Raises NotFound if nothing was built under the name, and Unavailable, naming the version, if
    another version of irdaemon built it.
    """
    known = _by_name.get(name)
    if known is not None and store in (None, known.ledger) and not _is_outdated(known):
        return known
    path = store or (_locate_store(name) if NAME.match(name) else "")
    if not os.path.isfile(path):
        raise NotFound(
            f"no corpus {name!r} was built here",
            f"built: {', '.join(list_built()) or 'none'}; `irc ls` lists those of the daemon",
        )
    return _open_ledger(name, path, embedder)


def find_built(corpus: object) -> Built:
    """Return the corpus for a handle or a name. Raises QueryError for anything else."""
    if isinstance(corpus, Built):
        return corpus
    if isinstance(corpus, str):
        return open_corpus(corpus)
    raise QueryError(f"a corpus is what build returned, or its name, not {corpus!r:.60}")


def list_built() -> list[str]:
    """Return the names of the corpora that `open_corpus` can open, sorted."""
    stores = Path(_locate_store("any")).parent.glob("*.sqlite")
    return sorted({*_by_name, *(path.stem for path in stores)})


def _is_outdated(known: Built) -> bool:
    """Return whether a corpus that is open for reading has been rebuilt since."""
    ledger = known.engine.ledger
    return ledger.read_only and (
        ledger.was_moved() or ledger.read_generation() != known.engine.snapshot.generation
    )


def _read_spec(ledger: Ledger, name: str) -> CorpusSpec:
    """Read a corpus' specification. Raises Unavailable if another version built it."""
    if ledger.format != FORMAT:
        raise Unavailable(
            f"the ledger of corpus {name!r} has format {ledger.format}, irdaemon {__version__}"
            f" reads format {FORMAT}",
            "install the newer irdaemon" if ledger.format > FORMAT else "build the corpus again",
        )
    return CorpusSpec.read(name, ledger.corpora.read_spec(name))


def _make_open_options(
    spec: CorpusSpec, embedder: object | None, ledger: Ledger, name: str
) -> EngineOptions:
    """Return engine options with the embedder of a corpus, without loading a model."""
    if not spec.is_object and embedder is None:
        return _defer_embedder(spec.embedder, ledger, name)
    if embedder is None:
        return EngineOptions(
            embedders={spec.embedder: Absent(spec.embedder, _make_missing_error(spec))}
        )
    made = adopt_embedder(embedder)
    if made.id != spec.embedder:
        raise QueryError(
            f"the corpus was built with embedder {spec.embedder!r}, not with {made.id!r}",
            "give that one, or build the corpus again",
        )
    return EngineOptions(embedders={made.id: made})


def _defer_embedder(embedder: str, ledger: Ledger, name: str) -> EngineOptions:
    """Return options with an embedder as the ledger describes it, loaded on first use."""
    served = ledger.corpora.find_served(name)
    dim = ledger.vectors.find_dimension(served[1]) if served and served[0] == embedder else 0
    if served is None or not dim:
        return EngineOptions()
    later = OnDemand(partial(make_embedder, embedder), known=(served[1], dim))
    return EngineOptions(embedders={embedder: later})


def _make_missing_error(spec: CorpusSpec) -> Unavailable:
    return Unavailable(
        f"the embedder {spec.embedder!r} was an object of the program that built the corpus",
        "give it: open_corpus(name, embedder=...)",
    )


def _open_ledger(name: str, path: str, embedder: object | None) -> Built:
    ledger = Ledger(path, read_only=True)
    try:
        spec = _read_spec(ledger, name)
        engine = Engine(
            ledger, [spec.make_corpus(name)], _make_open_options(spec, embedder, ledger, name)
        )
    except (LedgerError, sqlite3.Error) as error:
        ledger.close()
        raise Unavailable(f"corpus {name!r} cannot be opened: {path}: {error}") from error
    except BaseException:
        ledger.close()
        raise

    def again() -> Built:
        if spec.is_object and embedder is None:
            raise _make_missing_error(spec)
        return build(spec.make_source(name), store=path, embedder=embedder or spec.embedder)

    report = f"opened for reading, built by irdaemon {spec.version}"
    return _register(Built(name, engine, report, os.path.realpath(path), again))


def find_origin(hit: Hit) -> Built:
    """Return the corpus that a hit was found in; by its name if nothing else is known.

    Raises NotFound if it was closed and not built again from the same ledger.
    """
    if not isinstance(hit.corpus, HitCorpus):
        return open_corpus(hit.corpus)
    found = _by_ledger.get((hit.corpus.ledger, str(hit.corpus)))
    if found is None:
        raise NotFound(
            f"the corpus {str(hit.corpus)!r} that {hit.artifact_id!r} was found in is closed",
            "build it again and search it again",
        )
    return found


def _locate_store(name: str) -> str:
    return os.path.join(state_dir(), "library", f"{name}.sqlite")
