"""Upkeep: the jobs nobody waits for, from floors and graphs to compaction."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from irclient.errors import NotFound, QueryError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.discovery.budget import Ladder
from irdaemon.embed import QueryVector
from irdaemon.engine.erasing import Erasing
from irdaemon.engine.publishing import GONE
from irdaemon.engine.queue import Job, Progress
from irdaemon.evaluate import (
    load_cases,
)
from irdaemon.index import (
    CorpusIndex,
    build_graph,
    drifted,
    graph_is_due,
    without_graphs,
)
from irdaemon.runtime.memory import MB, resident, trim
from irdaemon.selection.calibrate import FEWEST_ARTIFACTS, Labelled, floors, try_out, with_labels
from irdaemon.selection.floor import of_this_formula

# Long jobs that read no rows of an older snapshot, whose image may be blanked meanwhile.
_LEVEL_WITH_SNAPSHOT = ("reconcile", "embed")


class Upkeep(Erasing):
    """Do the less urgent jobs. It belongs to the writer."""

    def _let_others_go_first(self, job: Job, corpus: Corpus) -> None:
        if self._work.stopping:
            raise Unavailable("stopped; the next start goes on from here")
        ledger = self.ledger
        while urgent := self._work.take_before(job):
            self._run(urgent)
        if job.kind in _LEVEL_WITH_SNAPSHOT:
            self._erase_if_due()
        if self.ledger is not ledger:
            raise Unavailable("the ledger was replaced; every corpus is looked at anew")
        if corpus.name not in self._corpora:
            raise NotFound(GONE)

    def _calibrate_if_due(self, corpus: Corpus) -> None:
        """Ask for new floors where there are none, or where the corpus has drifted from them."""
        index = self.snapshot.corpora[corpus.name]
        whole = index.last_reconcile is not None and not index.unembedded
        enough = index.rows.n_artifacts >= FEWEST_ARTIFACTS
        if self._calibrating and whole and enough and self._floors_are_due(index, corpus):
            self.request(Job("calibrate", corpus.name))

    def _floors_are_due(self, index: CorpusIndex, corpus: Corpus) -> bool:
        usable = len(of_this_formula(index.floors)) == len(index.floors)
        return not usable or drifted(index, _digest(corpus.cases))

    def _calibrate(self, job: Job, progress: Progress) -> str:
        if not (corpus := self._corpora.get(job.corpus)):
            return GONE
        index = self.snapshot.corpora[corpus.name]

        def pause() -> None:
            self._let_others_go_first(job, corpus)

        def vector(text: str) -> QueryVector | None:
            return self._embedders.fresh_vector(text, index.embedder)

        reranker = self._models.reranker if self._models.reranker.id else None
        trial = try_out(self.snapshot, corpus.name, vector, pause, reranker)
        if trial is None:
            return "too small to calibrate"
        # Noted even where it cannot be used, so that it is tried again only once it has changed.
        trial = replace(trial, labels=_digest(corpus.cases))
        if labelled := self._labelled(corpus):
            trial = with_labels(trial, labelled, vector)
        made = floors(trial, index, corpus.recipe, self._clock())
        self.ledger.corpora.put_floors(corpus.name, made)
        self._publish(corpus)
        return ", ".join(f"{mode} J {floor.j:.2f}" for mode, floor in made.items())

    def _labelled(self, corpus: Corpus) -> Labelled | None:
        """Return the labelled queries that the configuration names for a corpus."""
        if not corpus.cases:
            return None
        try:
            cases = load_cases(corpus.cases)
        except QueryError as error:
            self.notify(
                "failure", {"corpus": corpus.name, "path": corpus.cases, "reason": str(error)}
            )
            return None
        return Labelled(
            self.snapshot,
            corpus.name,
            tuple(case.query for case in cases if case.gold),
            tuple(case.query for case in cases if not case.gold),
        )

    def _graph(self, job: Job, progress: Progress) -> str:
        """Build a graph of what there is now, letting changes through all the while."""
        if not (corpus := self._corpora.get(job.corpus)):
            return GONE
        index = self.snapshot.corpora[corpus.name]
        if not graph_is_due(index.dense, self._hnsw_above):
            return "the graph there is will do"

        def pause(done: int, todo: int) -> None:
            progress.done, progress.todo = done, todo
            self._let_others_go_first(job, corpus)

        graph = build_graph(index.rows, pause)
        if self.snapshot.corpora[corpus.name].embedder == index.embedder:
            self._publish(corpus, graph)
        return f"a graph of {len(graph.keys)} vectors"

    def _retry(self, job: Job, progress: Progress) -> str:
        self._embedders.try_absent_again()
        retried = self.ledger.failures.retry()
        for corpus in self._corpora.values():
            if (
                self.snapshot.corpora[corpus.name].embedder
                != self._embedders.named(corpus.embedder).id
            ):
                self.request(Job("reconcile", corpus.name))
        for name in {failure.corpus for failure in self.ledger.failures.all()}:
            self.request(Job("reconcile", name))
        return f"{retried} failures to be tried again"

    def _pin(self, job: Job, progress: Progress) -> str:
        pins = [self._disclosed_now.popleft() for _ in range(len(self._disclosed_now))]
        self.ledger.pins.put(pins)
        return f"{len(pins)} disclosures noted"

    def _compact(self, job: Job, progress: Progress) -> str:
        for index in self.snapshot.corpora.values():
            self._forget_gone(index)
        dropped = self.ledger.vectors.drop_unused()
        self.ledger.forget_unused_terms()
        self.ledger.vacuum()
        self._work.add(Job("mend"))  # what is damaged where nobody looks is found once a day
        return f"{dropped} unused vectors dropped"

    def _shed(self, job: Job, progress: Progress) -> str:
        before = resident()
        self._embedders.release_all()
        self._discovering, self._searching = Ladder(), Ladder()
        # Until the next start: a graph would only be built to be dropped again.
        self._hnsw_above = 0
        self.snapshot = without_graphs(self.snapshot)
        trim()
        return f"{before // MB:,} MB before, {resident() // MB:,} MB after"


def _digest(path: str) -> str:
    """Return the digest of a file's content; "" for none, or for one that cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path else ""
    except OSError:
        return ""
