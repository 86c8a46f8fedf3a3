"""Answering: the read side. It reads the snapshot once a query and never waits for the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from irdaemon.config.corpus import Corpus
from irdaemon.disclosure.audit import audit, pin_of
from irdaemon.disclosure.disclose import check_level, disclose_artifact, disclose_hit
from irdaemon.disclosure.expand import parse_expand
from irdaemon.disclosure.references import resolve
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.budget import Ladder
from irdaemon.discovery.explain import explain
from irdaemon.discovery.query import asked, check_query
from irdaemon.embed.absent import Absent
from irdaemon.engine import status as overview
from irdaemon.engine.freshness import catch_up
from irdaemon.engine.health import Health, health
from irdaemon.engine.queue import Job
from irdaemon.engine.state import State
from irdaemon.evaluate import (
    Case,
    Catalogue,
    evaluate_discovery,
    plain_bm25,
    report,
)
from irdaemon.ledger import ArtifactPage, Ledger
from irdaemon.runtime.profile import summary
from irdaemon.selection.strategies import Selector
from irdaemon.types import Disclosure, Query, Selection


class Answering(State):
    """Answer queries, and tell what there is and how it is."""

    def discover(self, query: Query, custom: Selector | None = None) -> Selection:
        """Answer a query with few hits, or none and a typed reason; see `discovery.discover`."""

        def run(query: Query) -> Selection:
            return discovery.discover(self.snapshot, query, self._models, self.pending, custom)

        return self._answered(query, run, self._discovering)

    def search(self, query: Query) -> Selection:
        """Return the ranked candidates of a query, without selection."""

        def run(query: Query) -> Selection:
            return discovery.search(self.snapshot, query, self._models, self.pending)

        return self._answered(query, run, self._searching)

    def _answered(
        self, query: Query, run: Callable[[Query], Selection], ladder: Ladder
    ) -> Selection:
        """Run a query when it is time to, on the rung that it can afford, and read its payloads."""
        check_query(query)
        unproved = self._catch_up(query)
        found = ladder.answer(query, run) if query.budget_ms else run(query)
        return self._disclosed(_with_proof(found, unproved), query)

    def _catch_up(self, query: Query) -> tuple[str, ...] | None:
        """Where a fresh answer is asked for, wait for it and return the roots not proved."""
        if not query.fresh:
            return None
        names = [index.corpus for index in asked(self.snapshot, query.corpora)]
        corpora = [corpus for name in names if (corpus := self._corpora.get(name))]
        wait = self._work.wait_until if self.host.writes else self._drained
        timeout = query.wait_ms / 1e3
        return catch_up(corpora, self._work, self.host.caught_up, wait, timeout)

    def _drained(self, happened: Callable[[], bool], timeout: float) -> None:
        self.drain()

    def wait(self, generation: int, timeout: float) -> int:
        """Wait, at most `timeout` seconds, for a generation; return the one there is then."""
        if not self.host.writes:
            self.drain()
        self._work.wait_until(lambda: self.snapshot.generation >= generation, timeout)
        return self.snapshot.generation

    def explain(self, query: Query, item: str = "") -> dict[str, Any]:
        """Return what each stage of a query did, and what became of one artifact (CORPUS/ID)."""
        return explain(self.snapshot, query, self._models, item)

    def evaluate(
        self, cases: Sequence[Case], query: Query, baseline: bool = False
    ) -> dict[str, Any]:
        """Ask every case, shaped as `query` is, and return how good the answers are.

        With `baseline`, also what plain BM25 finds.
        """
        snapshot, catalogue = self.snapshot, Catalogue()
        indexes = asked(snapshot, query.corpora)
        for index in indexes:
            cards = [index.rows.cards[owner] for owner in index.rows.owners()]
            catalogue.add((card.artifact_id, card.name) for card in cards)
        told = report(self, cases, query, catalogue)
        if baseline:
            resolved = [catalogue.resolved(case) for case in cases]
            plain = plain_bm25(indexes, snapshot.vocabulary, resolved)
            told["baseline"] = evaluate_discovery(plain)["measures"]
        return told

    def disclose(
        self, references: Sequence[str], level: str = "body", expand: str = "none"
    ) -> list[Disclosure]:
        """Return the payload of artifacts named CORPUS/ID, or CORPUS/NAME where that is unique.

        `expand` is as on a Query, around the artifact's first record. Raises NotFound naming what
        there is, QueryError for an ambiguous name.
        """
        check_level(level)
        wish = parse_expand(expand)
        with self._reading() as ledger:
            found = [resolve(ledger, each, self._corpora) for each in references]
            told = [
                disclose_artifact(ledger, self._corpora[corpus], artifact_id, level, wish)
                for corpus, artifact_id in found
            ]
        self._note_disclosed(told)
        return told

    def _note_disclosed(self, told: Iterable[Disclosure]) -> None:
        """Have the writer pin what was disclosed; nobody waits for it."""
        pins = [pin for each in told if (pin := pin_of(each, self._clock()))]
        if pins:
            self._disclosed_now.extend(pins)
            self.request(Job("pin"))

    def _disclosed(self, found: Selection, query: Query) -> Selection:
        expand = parse_expand(query.expand)
        if (query.level == "metadata" and expand is None) or not found.results:
            return found
        corpora = self._corpora
        with self._reading() as ledger:
            hits = tuple(
                disclose_hit(ledger, corpora[hit.corpus], hit, query.level, expand)
                for hit in found.results
                if hit.corpus in corpora
            )
        self._note_disclosed(hit.disclosure for hit in hits if hit.disclosure)
        return replace(found, results=hits)

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        with self._reading() as ledger:
            corpus, artifact_id = resolve(ledger, reference, self._corpora)
            return ledger.artifacts.records_of(corpus, artifact_id)

    def artifacts(self, wanted: ArtifactPage) -> list[dict[str, Any]]:
        """Return a page of the artifacts that are held, in the order of their references."""
        if wanted.corpus and wanted.corpus not in self._corpora:
            raise self._unknown(wanted.corpus)
        with self._reading() as ledger:
            return overview.artifacts(ledger, wanted)

    def failures(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return what could not be read: corpus, path, reason, and since when."""
        self._check_known(corpus)
        with self._reading() as ledger:
            return overview.failures(ledger, corpus)

    def secrets(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return where secrets lie in what was indexed: corpus, path, line and kind."""
        self._check_known(corpus)
        with self._reading() as ledger:
            return overview.secrets(ledger, corpus)

    def audit(self, corpus: str | None = None) -> list[dict[str, Any]]:
        """Return the artifacts whose text changed since it was last disclosed, with a diff."""
        self._check_known(corpus)
        with self._reading() as ledger:
            return audit(ledger, self._corpora, corpus)

    def info(self, name: str) -> dict[str, Any]:
        """Return what is known of one corpus."""
        if name not in self._corpora:
            raise self._unknown(name)
        with self._reading() as ledger:
            return overview.info(ledger, self._corpora[name], self._seen(name))

    def status(self, profile: bool = False) -> dict[str, Any]:
        """Return generation, queue, and the state of every corpus; on request, of every stage."""
        with self._reading() as ledger:
            return {
                **({"profile": summary()} if profile else {}),
                **self.host.facts(),
                "generation": self.snapshot.generation,
                "ledger": overview.of_ledger(ledger, self._setbacks.trouble, self.loss),
                "queue": self.queued,
                "queue_s": self._queue_age(),
                "health": self._health(ledger).to_dict(),
                "jobs": [progress.to_dict() for progress in self._work.running()],
                "corpora": [
                    overview.status(ledger, corpus, self._seen(corpus.name))
                    for corpus in self._corpora.values()
                ],
            }

    def health(self) -> Health:
        """Judge how every corpus is by what was seen and what was done."""
        with self.ledger.reading() as ledger:
            return self._health(ledger)

    def _health(self, ledger: Ledger) -> Health:
        facts = tuple(
            overview.facts(ledger, each, self._work.standing(each.name), self._missing(each))
            for each in self._corpora.values()
        )
        return health(facts, self.host.vitals(), self._policy, self._clock())

    def _queue_age(self) -> float:
        oldest = self._work.oldest()
        return 0.0 if oldest is None else round(max(0.0, self._clock() - oldest), 1)

    def _missing(self, corpus: Corpus) -> str:
        """Return why a corpus' embedder cannot be used, "" where it can."""
        target = self._embedders.named(corpus.embedder)
        return target.error.message if isinstance(target, Absent) else ""

    def _seen(self, name: str) -> overview.Seen:
        target = self._embedders.named(self._corpora[name].embedder)
        why = self._missing(self._corpora[name])
        unread = self._unread(name) + self._setbacks.paths(name) + self._retries.paths(name)
        unwritten = self._setbacks.trouble if self._setbacks.paths(name) else None
        return overview.Seen(self.snapshot.corpora[name], unread, target.id, why, unwritten)

    def _unread(self, name: str) -> int:
        """Count the entries of a corpus that a running look has still to read."""
        looks = (
            p for p in self._work.running() if p.job.kind == "reconcile" and p.job.corpus == name
        )
        return sum(look.todo - look.done for look in looks)


def _with_proof(found: Selection, unproved: tuple[str, ...] | None) -> Selection:
    if unproved is None:
        return found
    return replace(found, freshness={**found.freshness, "unproved": list(unproved)})
