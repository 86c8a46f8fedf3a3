"""The engine: the whole library behind one object, without a thread of its own.

It owns the ledger, the queue of jobs and the current snapshot. Anyone may `request` a job; one
writer calls `step` (the daemon's writer thread) or `drain` (a library call); queries read
`snapshot` once and are never held up. Whoever wants to hear of progress passes `notify`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irclient.errors import IRError, NotFound, QueryError, Unavailable
from irdaemon import discovery, overview
from irdaemon.asking import asked, check_query
from irdaemon.audit import audit, pin_of
from irdaemon.calibration import FEWEST_ARTIFACTS, Labelled, floors, try_out, with_labels
from irdaemon.corpus import Corpus
from irdaemon.disclosure import check_level, disclose_artifact, disclose_hit
from irdaemon.embed import Embedder, QueryVector
from irdaemon.embed.absent import Absent
from irdaemon.embedders import Embedders
from irdaemon.evaluate import (
    Case,
    Catalogue,
    evaluate_discovery,
    load_cases,
    plain_bm25,
    report,
)
from irdaemon.expansion import parse_expand
from irdaemon.explanation import explain
from irdaemon.freshness import catch_up
from irdaemon.health import Health, Policy, health
from irdaemon.host import Host, Library
from irdaemon.index import (
    CorpusIndex,
    Graph,
    Images,
    Origin,
    Snapshot,
    Space,
    build_graph,
    drifted,
    graph_is_due,
    index_corpus,
    without_graphs,
)
from irdaemon.ingest import embed, reconcile
from irdaemon.jobs import CHANGE, Job, Progress, Work
from irdaemon.ledger import MOST_PINS, Ledger, LedgerError, Pin, Wanted
from irdaemon.ledger.damage import is_damage, is_passing
from irdaemon.ledger.loss import Loss, damage, first_fault
from irdaemon.memory import MB, give_back, resident
from irdaemon.offers import Offers
from irdaemon.profile import note, summary
from irdaemon.references import resolve, unknown_corpus
from irdaemon.renewal import renewed
from irdaemon.rerank import NOT_CONFIGURED, NoReranker, Reranker, make_reranker
from irdaemon.rungs import Ladder
from irdaemon.selection import Selector
from irdaemon.setbacks import Setbacks
from irdaemon.types import Disclosure, Query, Selection

log = logging.getLogger(__name__)

Notify = Callable[[str, Mapping[str, Any]], None]

# Texts embedded in one go: short enough that a change need not wait for the rest.
_EMBEDDED_AT_ONCE = 512
# A change this small gets its vectors before it is published.
_EMBEDDED_WITH_CHANGE = 64
_PUBLISHED_EVERY_S = 0.5
_GONE = "the corpus is gone"


class Engine:
    """Index corpora into a ledger and answer queries about them."""

    def __init__(
        self,
        ledger: Ledger,
        corpora: Iterable[Corpus] = (),
        *,
        images: Images | None = None,
        hnsw_above: int = 50_000,
        embedder_idle_s: float = 0.0,
        calibrating: bool = True,
        reranker: str = "",
        policy: Policy | None = None,
        queued_paths: int = 0,
        clock: Callable[[], float] = time.time,
        notify: Notify = lambda topic, data: None,
    ):
        self.ledger = ledger
        self.notify = notify
        self.host: Host = Library()
        self._images = images
        self.offers = Offers(clock)
        self._hnsw_above = hnsw_above
        self._calibrating = calibrating
        self._embedders = Embedders(embedder_idle_s)
        self._models = discovery.Models(self._embedders.vector, _reranker(reranker))
        self._clock = clock
        self._corpora: dict[str, Corpus] = {}
        self._policy = policy or Policy()
        self._work = Work(clock, queued_paths)
        self._setbacks = Setbacks()
        self._rereading: set[str] = set()
        self.loss: Loss | None = None
        self._discovering, self._searching = Ladder(), Ladder()
        self._published_at = 0.0
        self._next_corpora: tuple[Corpus, ...] = ()
        self._disclosed_now: deque[Pin] = deque(maxlen=MOST_PINS)
        self.snapshot = Snapshot(ledger.generation(), {}, ledger.terms.table())
        self.set_corpora(corpora)

    # -- corpora ---------------------------------------------------------------------------------

    @property
    def corpora(self) -> Mapping[str, Corpus]:
        """Return the corpora by name."""
        return self._corpora

    def reconfigure(self, corpora: Iterable[Corpus]) -> list[int]:
        """Have the writer make these the corpora and look at each; return the jobs' numbers."""
        self._next_corpora = tuple(corpora)
        return [self.request(Job("configure"))]

    def _configure(self, job: Job, progress: Progress) -> str:
        corpora = self._next_corpora
        self.set_corpora(corpora)
        for corpus in corpora:
            self.request(Job("reconcile", corpus.name))
        self.notify("generation", {"generation": self.snapshot.generation, "corpus": ""})
        return f"{len(corpora)} corpora"

    def set_corpora(self, corpora: Iterable[Corpus]) -> None:
        """Make these the corpora: new ones are served from the ledger, dropped ones forgotten.

        A corpus whose recipe or embedder changed goes stale by itself at its next look. Only the
        writer may call this, or whoever opened the engine before the writer began.
        """
        self._embedders.try_absent_again()
        chosen = {corpus.name: corpus for corpus in corpora}
        indexes: dict[str, CorpusIndex] = {}
        for name, corpus in chosen.items():
            embedder = self._embedders.named(corpus.embedder)
            self.ledger.declare(name, corpus.kind, corpus.recipe, embedder.id)
            if self.ledger.served(name) is None and not isinstance(embedder, Absent):
                self.ledger.serve(name, corpus.embedder, embedder.id)
            indexes[name] = self._index(corpus, self.snapshot.corpora.get(name))
        for name in self.ledger.corpora():
            if name not in chosen:
                self._work.drop(name, _GONE)
                self.ledger.forget_corpus(name)
                if self._images:
                    self._images.drop(name)
        self._corpora = chosen
        generation = self.ledger.generation()
        if self.snapshot.corpora and set(self.snapshot.corpora) != set(indexes):
            generation = self.ledger.next_generation()
        self.snapshot = Snapshot(generation, indexes, self.ledger.terms.table())

    def _serving(self, corpus: Corpus) -> Embedder:
        return self._embedders.serving(corpus.embedder, self.ledger.served(corpus.name))

    def doze(self) -> None:
        """Let go of what is only kept to be quick, where nobody has needed it for a while."""
        self._embedders.doze()

    def shed(self) -> None:
        """Have the writer let go of all that is only kept to be quick."""
        self.request(Job("shed"))

    def _shed(self, job: Job, progress: Progress) -> str:
        before = resident()
        self._embedders.shed()
        self._discovering, self._searching = Ladder(), Ladder()
        # Until the next start: a graph would only be built to be dropped again.
        self._hnsw_above = 0
        self.snapshot = without_graphs(self.snapshot)
        give_back()
        return f"{before // MB:,} MB before, {resident() // MB:,} MB after"

    # -- the write side --------------------------------------------------------------------------

    def request(self, job: Job) -> int:
        """Queue a job and return its number; equal wishes become one."""
        if job.corpus and job.corpus not in self._corpora:
            raise self._unknown(job.corpus)
        return self._work.add(job)

    def step(self, timeout: float | None = 0) -> bool:
        """Do the most urgent job, waiting up to `timeout` seconds for one; say if one was done."""
        self._keep_ledger()
        job = self._work.take(timeout)
        if job is None:
            return False
        self._run(job)
        return True

    def drain(self) -> None:
        """Do all jobs there are: the engine without a writer thread."""
        while self.step():
            pass

    def stop(self) -> None:
        """Make a waiting `step` return, and a running job end after its present transaction."""
        self._work.stop()

    def progress(self, number: int) -> Progress:
        """Return how far a job is. Raises NotFound for one that is not remembered."""
        return self._work.progress(number)

    @property
    def pending(self) -> int:
        """Count the changes seen and not yet in the snapshot."""
        looks = (look for look in self._work.running() if look.job.kind == "reconcile")
        waiting = self._work.paths() + self._setbacks.paths()
        return waiting + sum(look.todo - look.done for look in looks)

    @property
    def breath(self) -> float:
        """Return when, on the monotonic clock, the writer last got on."""
        return self._work.breath

    @property
    def queued(self) -> int:
        """Count the jobs that wait or run."""
        return self._work.queued

    def _run(self, job: Job) -> None:
        progress = self._work.progress(job.number)
        started = self._clock()
        state, report = "failed", "interrupted"
        try:
            report = _DOERS[job.kind](self, job, progress)
            state = "done"
        except IRError as error:
            report = error.message
        except Exception as error:
            report = _told(error)
            if not self._recovered(job, error):
                raise
        finally:
            self._setbacks.end(job.number)
            self._work.end(job.number, state, report)
            took_ms = (self._clock() - started) * 1e3
            note(f"job {job.kind}", took_ms)
            self.notify("job", {**progress.to_dict(), "took_ms": round(took_ms, 1)})
        if job.kind not in ("embed", "pin") and job.urgency != CHANGE:
            with contextlib.suppress(sqlite3.DatabaseError):  # the next job will tell
                self.ledger.log_job(job.kind, job.corpus, progress.report, started, took_ms)

    # -- a ledger in trouble ---------------------------------------------------------------------

    def _keep_ledger(self) -> None:
        """Ask for what stopped a job to be tried again, and for a lost file to be put back."""
        for job in self._setbacks.due(self._clock()):
            with contextlib.suppress(NotFound):  # its corpus was removed meanwhile
                self._setbacks.tried(self.request(job))
        if self.ledger.moved() and not self._setbacks.holds("mend"):
            self._work.add(Job("mend"))

    def _recovered(self, job: Job, error: Exception) -> bool:
        """Go on after a job failed by the ledger's fault; say whether it did."""
        if is_passing(error):
            # A full disk, say. Compaction comes again by itself, and wants more room than others.
            if job.kind != "compact":
                self._setbacks.note(job, str(error), self._clock())
            return True
        why = damage(self.ledger.path, error) if self.host.writes else ""
        if why:
            self._renew(why)
        return bool(why)

    def _mend(self, job: Job, progress: Progress) -> str:
        """Put a lost file back, and mend or replace a damaged one."""
        if self.ledger.moved():
            self.ledger.put_back()
            log.error("%s was gone; it is written anew, nothing is lost", self.ledger.path)
            return "the ledger's file was gone and is written anew"
        why = first_fault(self.ledger.path) if self.host.writes else ""
        if why:
            self._renew(why)
        return why or "the ledger is sound"

    def _renew(self, why: str) -> None:
        """Go on with a sound ledger; each corpus is served as it is until that one has it whole."""
        self.ledger, loss = renewed(self.ledger, self.snapshot, why, self._clock())
        self.loss = loss or self.loss
        self._rereading = set(self._corpora)
        self.set_corpora(self._corpora.values())
        for name in self._corpora:
            self.request(Job("reconcile", name))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Ledger]:
        """Give a view of the ledger. Raises Unavailable where there is none to be had."""
        try:
            with self.ledger.reading() as ledger:
                yield ledger
        except (sqlite3.DatabaseError, LedgerError) as error:
            if is_damage(error.__cause__ or error):
                self._work.add(Job("mend"))
            raise Unavailable(
                f"the ledger cannot be read: {error}",
                "it may mend itself in a moment; irdaemon check says more",
            ) from error

    # -- the jobs --------------------------------------------------------------------------------

    def _reconcile(self, job: Job, progress: Progress) -> str:
        if not (corpus := self._corpora.get(job.corpus)):
            return _GONE
        failed_before = {failure.key for failure in self.ledger.failures.all(corpus.name)}

        def advance(done: int, todo: int) -> None:
            progress.done, progress.todo = done, todo
            self._breathe(job, corpus)

        above = self.ledger.last_record()
        report = reconcile(self.ledger, corpus, job.look, self._clock, advance)
        self._work.looked(job, report)
        progress.done = progress.todo
        self._embed_few(corpus, above)
        if report.changed or not job.look.under:
            self._publish(corpus)
        index = self.snapshot.corpora[corpus.name]
        if index.unembedded or index.embedder != self._embedders.named(corpus.embedder).id:
            self.request(Job("embed", corpus.name))
        else:
            self._work.embedded(corpus.name)
        self._calibrate_if_due(corpus)
        if report.outdated:
            # What an earlier version stored otherwise is not to linger in free pages.
            self.request(Job("compact"))
        self._tell_failures(corpus.name, failed_before)
        return str(report)

    def _tell_failures(self, corpus: str, before: set[str]) -> None:
        for failure in self.ledger.failures.all(corpus):
            if failure.key not in before:
                self.notify(
                    "failure", {"corpus": corpus, "path": failure.path, "reason": failure.reason}
                )

    def _embed_few(self, corpus: Corpus, above: int) -> None:
        """Embed what a small change brought, so that it is published with its vectors."""
        for embedder in {self._serving(corpus), self._embedders.named(corpus.embedder)}:
            # Who cannot embed now says so in the embed job, and holds up no change.
            with contextlib.suppress(Unavailable):
                next(embed(self.ledger, corpus.name, embedder, _EMBEDDED_WITH_CHANGE, above), 0)

    def _embed(self, job: Job, progress: Progress) -> str:
        if not (corpus := self._corpora.get(job.corpus)):
            return _GONE
        embedder = self._embedders.named(corpus.embedder)
        index = self.snapshot.corpora[corpus.name]
        switching = index.embedder != embedder.id
        progress.todo = index.rows.n_records if switching else index.unembedded
        for batch in embed(self.ledger, corpus.name, embedder, _EMBEDDED_AT_ONCE):
            progress.done += batch
            progress.todo = max(progress.todo, progress.done)
            self._breathe(job, corpus)
        if not isinstance(embedder, Absent):
            self.ledger.serve(corpus.name, corpus.embedder, embedder.id)
        self._publish(corpus)
        self._calibrate_if_due(corpus)
        return f"{progress.done} records embedded"

    def _calibrate_if_due(self, corpus: Corpus) -> None:
        """Ask for new floors where there are none, or where the corpus has drifted from them."""
        index = self.snapshot.corpora[corpus.name]
        whole = index.last_reconcile is not None and not index.unembedded
        enough = index.rows.n_artifacts >= FEWEST_ARTIFACTS
        if self._calibrating and whole and enough and drifted(index, _digest(corpus.cases)):
            self.request(Job("calibrate", corpus.name))

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

    def _calibrate(self, job: Job, progress: Progress) -> str:
        if not (corpus := self._corpora.get(job.corpus)):
            return _GONE
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
        self.ledger.put_floors(corpus.name, made)
        self._publish(corpus)
        return ", ".join(f"{mode} J {floor.j:.2f}" for mode, floor in made.items())

    def _graph(self, job: Job, progress: Progress) -> str:
        """Build a graph of what there is now, letting changes through all the while."""
        if not (corpus := self._corpora.get(job.corpus)):
            return _GONE
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

    def _image(self, job: Job, progress: Progress) -> str:
        """Lay a large corpus out in files, and go on from those."""
        index = self.snapshot.corpora.get(job.corpus)
        if index is None or self._images is None or not self._image_is_due(index):
            return "the image there is will do"
        origin, generation = self._origin(index), self.snapshot.generation
        try:
            self._images.save(origin, generation, index.image)
        except OSError as error:
            return f"no image: {error}"
        self.ledger.forget_gone(job.corpus, index.rows.buried)
        if image := self._images.load(origin, generation):
            indexes = {**self.snapshot.corpora, job.corpus: index.on(image)}
            self.snapshot = replace(self.snapshot, corpora=indexes)
        return f"an image of {index.rows.n_records} records"

    def _image_is_due(self, index: CorpusIndex) -> bool:
        if index.corpus in self._rereading:  # these are still the rows of the ledger before
            return False
        whole = index.last_reconcile is not None and not index.unembedded
        return bool(self._images and whole and self._images.due(index.rows, index.dense.graph))

    def _origin(self, index: CorpusIndex) -> Origin:
        dim = index.rows.vectors.buffer.shape[1]
        return Origin(self.ledger.identity(), index.corpus, index.embedder, dim)

    def _breathe(self, job: Job, corpus: Corpus) -> None:
        """Pause a long job: end it if told to, publish what there is, let changes through."""
        self._publish_if_due(corpus)
        self._let_others_go_first(job, corpus)

    def _let_others_go_first(self, job: Job, corpus: Corpus) -> None:
        if self._work.stopping:
            raise Unavailable("stopped; the next start goes on from here")
        ledger = self.ledger
        while urgent := self._work.take_before(job):
            self._run(urgent)
        if self.ledger is not ledger:
            raise Unavailable("the ledger was replaced; every corpus is looked at anew")
        if corpus.name not in self._corpora:
            raise NotFound(_GONE)

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

    def _publish_if_due(self, corpus: Corpus) -> None:
        """Publish during a long job, but spend no more than a fifth of the time on it."""
        if time.monotonic() >= self._published_at:
            started = time.monotonic()
            self._publish(corpus)
            took = time.monotonic() - started
            self._published_at = started + max(_PUBLISHED_EVERY_S, 5 * took)

    def _publish(self, corpus: Corpus, graph: Graph | None = None) -> None:
        if corpus.name not in self._corpora:
            return
        index = self._index(corpus, self.snapshot.corpora.get(corpus.name), graph)
        if graph_is_due(index.dense, self._hnsw_above):
            self.request(Job("graph", corpus.name))
        elif self._image_is_due(index):
            self.request(Job("image", corpus.name))
        indexes = {**self.snapshot.corpora, corpus.name: index}
        generation = self.ledger.next_generation()
        self.snapshot = Snapshot(generation, indexes, self.ledger.terms.table())
        self._work.tell()
        self.notify("generation", {"generation": generation, "corpus": corpus.name})

    def _index(
        self, corpus: Corpus, previous: CorpusIndex | None, graph: Graph | None = None
    ) -> CorpusIndex:
        if previous and corpus.name in self._rereading:
            if self.ledger.state_of(corpus.name)[0] is None:
                return previous
            self._rereading.discard(corpus.name)
            previous = None
        embedder = self._serving(corpus)
        space = Space(corpus.recipe, embedder.id, embedder.dim)
        known = previous or self._imaged(corpus.name, space)
        index = index_corpus(self.ledger, corpus.name, space, known, graph)
        if known is None:
            self._forget_gone(index)
        return index

    def _forget_gone(self, index: CorpusIndex) -> None:
        """Forget what is gone where there is no image that has still to hear of it."""
        if not index.rows.laid_out:
            if self._images:
                self._images.drop(index.corpus)
            self.ledger.forget_gone(index.corpus, index.rows.buried)

    def _imaged(self, corpus: str, space: Space) -> CorpusIndex | None:
        if self._images is None:
            return None
        origin = Origin(self.ledger.identity(), corpus, space.embedder, space.dim)
        image = self._images.load(origin, self.ledger.generation())
        return CorpusIndex.imaged(origin, image) if image else None

    # -- the read side ---------------------------------------------------------------------------

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

    def records(self, reference: str) -> list[dict[str, Any]]:
        """Return the records of one artifact, in plan order."""
        with self._reading() as ledger:
            corpus, artifact_id = resolve(ledger, reference, self._corpora)
            return ledger.records_for_artifact(corpus, artifact_id)

    def artifacts(self, wanted: Wanted) -> list[dict[str, Any]]:
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
        unread = self._unread(name) + self._setbacks.paths(name)
        unwritten = self._setbacks.trouble if self._setbacks.paths(name) else None
        return overview.Seen(self.snapshot.corpora[name], unread, target.id, why, unwritten)

    def _unread(self, name: str) -> int:
        """Count the entries of a corpus that a running look has still to read."""
        looks = (
            p for p in self._work.running() if p.job.kind == "reconcile" and p.job.corpus == name
        )
        return sum(look.todo - look.done for look in looks)

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

    def _check_known(self, corpus: str | None) -> None:
        if corpus is not None and corpus not in self._corpora:
            raise self._unknown(corpus)

    def _unknown(self, name: str) -> NotFound:
        return unknown_corpus(name, self._corpora)


def _with_proof(found: Selection, unproved: tuple[str, ...] | None) -> Selection:
    if unproved is None:
        return found
    return replace(found, freshness={**found.freshness, "unproved": list(unproved)})


def _reranker(name: str) -> Reranker:
    """Return the reranker of that name; a stand-in that says why where there is none."""
    if not name:
        return NOT_CONFIGURED
    try:
        return make_reranker(name)
    except Unavailable as error:
        return NoReranker(error)


def _told(error: Exception) -> str:
    """Return what a job's report says of a fault: what may quote a document is left out."""
    return repr(error) if isinstance(error, sqlite3.Error) else f"a fault: {type(error).__name__}"


def _digest(path: str) -> str:
    """Return the digest of a file's content; "" for none, or for one that cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path else ""
    except OSError:
        return ""


_DOERS: dict[str, Callable[[Engine, Job, Progress], str]] = {
    "mend": Engine._mend,
    "configure": Engine._configure,
    "reconcile": Engine._reconcile,
    "embed": Engine._embed,
    "retry": Engine._retry,
    "pin": Engine._pin,
    "calibrate": Engine._calibrate,
    "graph": Engine._graph,
    "image": Engine._image,
    "compact": Engine._compact,
    "shed": Engine._shed,
}
