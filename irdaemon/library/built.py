"""Corpora built in this process: each a handle, kept by its name and by its ledger.

A hit names its corpus by a `HitCorpus`, so that it leads to the ledger it was found in, whatever is
built under the same name later.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from weakref import WeakValueDictionary

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.config.config import state_dir
from irdaemon.config.corpus import Corpus
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Ledger
from irdaemon.library.corpus_source import CorpusSource
from irdaemon.types import NAME, Hit, Query, Selection

_DEFAULT_EMBEDDER = "wordllama"


_MEMORY = ":memory:"
_PROBLEMS_SHOWN = 3


class HitCorpus(str):
    """The name of the corpus that a hit was found in, with its ledger, and when (Unix seconds)."""

    __slots__ = ("at", "ledger")

    ledger: str
    at: float

    @classmethod
    def of(cls, built: Built) -> HitCorpus:
        """Name a corpus, for hits found just now."""
        named = cls(built.name)
        named.ledger, named.at = built.ledger, time.time()
        return named


class Built:
    """A corpus built in this process: its name, its engine, and what the last build did.

    `ledger` identifies the ledger behind it: its real path, or a unique name of one in memory.
    """

    def __init__(self, name: str, engine: Engine, report: str, ledger: str = ""):
        self.name = name
        self.engine = engine
        self.report = report
        self.ledger = ledger

    def __repr__(self) -> str:
        return f"<corpus {self.name!r}: {self.report}>"

    def search(self, query: Query | str) -> Selection:
        """Return the ranked candidates of a query; see `irdaemon.evaluate.Searcher`."""
        return self.engine.search(query)

    def discover(self, query: Query | str) -> Selection:
        """Return the few that answer a query, or an abstention."""
        return self.engine.discover(query)

    def own(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Return hits of this corpus as ones that lead back to it; others stay as they are."""
        named = HitCorpus.of(self)
        return tuple(replace(hit, corpus=named) if hit.corpus == named else hit for hit in hits)

    def holds(self, artifact_id: str) -> bool:
        """Return whether an artifact of just this id is held."""
        return self.engine.ledger.artifacts.get(self.name, artifact_id) is not None

    def close(self) -> None:
        """Close the ledger behind it; what was built under its name since then stays."""
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
    embedder: str = _DEFAULT_EMBEDDER,
    full: bool = False,
    prune: bool = False,
) -> Built:
    """Index a source, reading only what changed since the last build of that name.

    `store` is the ledger file; by default one per corpus in the state directory, ":memory:" for
    none at all. `full` reads everything again; `prune` forgets what an empty root no longer has.
    A corpus of the same name in another ledger stays open, for those who hold its handle.

    Raises Unavailable where the source cannot be read and nothing is held of it; otherwise what
    could not be read is part of the handle's report.
    """
    if not NAME.match(source.name):
        raise QueryError(f"{source.name!r} is no name for a corpus", "use letters, digits, - _ .")
    corpus = Corpus(source.name, source.kind, source.source, source.strategy, embedder)
    path = store or _store_of(source.name)
    ledger = f"{_MEMORY}{uuid.uuid4().hex}" if path == _MEMORY else os.path.realpath(path)
    if (known := _by_ledger.get((ledger, source.name))) is not None:
        known.close()
    engine = Engine(Ledger(path), [corpus])
    number = engine.request(Job("reconcile", source.name, ScanRequest(full=full, prune=prune)))
    engine.drain()
    done, problems = engine.progress(number), _problems(engine, source.name)
    held = engine.snapshot.corpora[source.name].rows.n_artifacts
    if done.state == "failed" or (problems and not held):
        engine.ledger.close()
        raise Unavailable(f"corpus {source.name!r} could not be built: {problems or done.report}")
    report = f"{done.report}; not read: {problems}" if problems else done.report
    built = Built(source.name, engine, report, ledger)
    _by_name[built.name] = _by_ledger[built.ledger, built.name] = built
    return built


def _problems(engine: Engine, name: str) -> str:
    """Return what could not be scanned of a corpus, "" where all could; the first few in full."""
    problems = engine.ledger.corpora.state_of(name)[1]
    shown = [f"{problem.path}: {problem.reason}" for problem in problems[:_PROBLEMS_SHOWN]]
    more = len(problems) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])


def open_corpus(name: str) -> Built:
    """Return a corpus that was built in this process.

    Raises NotFound for one that was not: a ledger does not say what its source is.
    """
    if name not in _by_name:
        raise NotFound(
            f"no corpus {name!r} was built in this process",
            f"built here: {', '.join(sorted(_by_name)) or 'none'}",
        )
    return _by_name[name]


def built_of(hit: Hit) -> Built:
    """Return the corpus a hit was found in; by its name, where nothing else is known of it.

    Raises NotFound where it was closed, and not built again from the same ledger.
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


def _store_of(name: str) -> str:
    return os.path.join(state_dir(), "library", f"{name}.sqlite")
