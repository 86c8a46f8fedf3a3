"""The writer: it takes jobs from the queue and runs them, one after another."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from irclient.counts import counted
from irclient.errors import IRError, NotFound, Unavailable
from irdaemon.config.config import KNOWN_KINDS
from irdaemon.config.corpus import Corpus
from irdaemon.config.reindex import MANUAL
from irdaemon.contrib.models.synopses import take_in
from irdaemon.contrib.usage import learning
from irdaemon.engine import upkeep
from irdaemon.engine.calibrate import calibrate_corpus
from irdaemon.engine.indexing import embed_corpus, reconcile_corpus
from irdaemon.engine.model_selection import JobContext
from irdaemon.engine.publish import GONE, Publisher
from irdaemon.engine.queue import CHANGE, Job, Progress
from irdaemon.engine.state import State
from irdaemon.engine.upkeep import Eraser, Release, Repair
from irdaemon.runtime.profile import note
from irdaemon.types import SourceError

# What a new configuration changes for the corpora, in words that say how to undo it.

Corpora = Mapping[str, Corpus]


def described(before: Corpora, after: Corpora, held: Mapping[str, int]) -> str:
    """Return what became of the corpora; `held` are the artifacts that each one had before."""
    own = {name: each for name, each in before.items() if not each.example}
    return "; ".join(
        [
            f"{counted(len(after), 'corpus')}",
            *_examples(before, after),
            *(_gone(own[name], held.get(name, 0)) for name in own if name not in after),
            *_replaced(own, after, held),
            *(f"{name} is new" for name in after if name not in own and not after[name].example),
        ]
    )


def _examples(before: Corpora, after: Corpora) -> Iterator[str]:
    """Yield that the examples make way, where they were shown and are no longer."""
    gone = [name for name, each in before.items() if each.example]
    if gone and not any(each.example for each in after.values()):
        yield f"the examples make way for what is yours ({', '.join(gone)})"


def _gone(corpus: Corpus, held: int) -> str:
    name = corpus.name
    if name not in KNOWN_KINDS:
        return f"{name} is removed with its {counted(held, 'artifact')}"
    return (
        f"{name} is switched off; {counted(held, 'artifact', 'is')} removed;"
        f" irc add {name} brings back what is found in the usual places"
    )


def _replaced(before: Corpora, after: Corpora, held: Mapping[str, int]) -> Iterator[str]:
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        if was.found and not now.found:
            places = ", ".join(root.path for root in was.found)
            roots = ", ".join(root.path for root in now.source.roots()) or "no root"
            yield (
                f"{name}, found in {places} ({counted(held.get(name, 0), 'artifact')}), is replaced"
                f" by {now.kind} in {roots}; irc rm {name}, then irc add {name} brings it back"
            )


_OF_A_CORPUS: Mapping[str, Callable[[JobContext, Corpus], str]] = {
    "reconcile": reconcile_corpus,
    "embed": embed_corpus,
    "calibrate": calibrate_corpus,
    "graph": upkeep.build_corpus_graph,
    "image": upkeep.save_image,
    "learn": learning.learn_corpus,
    "roll_back": learning.roll_back_corpus,
    "synopsis": take_in,
}
_OF_THE_ENGINE: Mapping[str, Callable[[JobContext], str]] = {
    "retry": upkeep.retry_failures,
    "pin": upkeep.note_disclosures,
    "compact": upkeep.compact,
    "shed": upkeep.shed,
    "unlearn": learning.unlearn,
}
# Long jobs that read no rows of an older snapshot, whose image may be blanked meanwhile.
_LEVEL_WITH_SNAPSHOT = ("reconcile", "embed")
# So frequent that a line in the ledger for each would push out all others.
_NOT_LOGGED = ("embed", "pin")


class Writer:
    """Run jobs. All of it belongs to one thread: the daemon's writer, or a library's caller.

    `reconfigure` and `shed` only queue jobs; any thread may call them.
    """

    def __init__(self, state: State):
        self._state = state
        self._next_corpora: tuple[Corpus, ...] = ()
        self.publisher = Publisher(state)
        self.repair = Repair(state, self.publisher)
        self._eraser = Eraser(state)
        self._release = Release(state)

    def reconfigure(self, corpora: Iterable[Corpus]) -> list[int]:
        """Have these made the corpora and each scanned; return the jobs' numbers."""
        self._next_corpora = tuple(corpora)
        return [self._state.request(Job("configure"))]

    def shed(self) -> None:
        """Have the memory released that only makes things faster."""
        self._state.request(Job("shed"))

    def step(self, timeout: float | None = 0) -> bool:
        """Run the most urgent job, waiting up to `timeout` seconds for one; return if one was."""
        self.repair.request_due()
        self._eraser.tick()
        self._note_use()
        self._release.tick()
        job = self._state.work.take(timeout)
        if job is None:
            return False
        self._run(job)
        return True

    def drain(self) -> None:
        """Run all jobs there are: the engine without a writer thread."""
        while self.step():
            pass

    def _run(self, job: Job) -> None:
        state, progress = self._state, self._state.work.progress(job.number)
        started = state.clock()
        outcome, report = "failed", "interrupted"
        try:
            report = self._report_of(job, progress)
            outcome = "done"
        except SourceError as error:  # the scan itself failed
            report = error.message
            state.retries.note(job, state.clock())
        except IRError as error:
            report = error.message
        except Exception as error:
            report = _without_text(error)
            if not self.repair.handles(job, error):
                raise
        finally:
            state.retries.settle(job, done=outcome == "done")
            state.work.end(job.number, outcome, report)
            took_ms = (state.clock() - started) * 1e3
            self._release.worked(took_ms / 1e3)
            note(f"job {job.kind}", took_ms)
            state.notify("job", {**progress.to_dict(), "took_ms": round(took_ms, 1)})
        if job.kind not in _NOT_LOGGED and job.urgency != CHANGE and not progress.uneventful:
            with contextlib.suppress(sqlite3.DatabaseError):  # the next job meets it again
                state.ledger.log_job(job.kind, job.corpus, progress.report, started, took_ms)

    def _report_of(self, job: Job, progress: Progress) -> str:
        if job.kind == "repair":
            return self.repair.run()
        if job.kind == "configure":
            return self._configure()
        context = JobContext(self._state, self.publisher, job, progress, partial(self._pause, job))
        if job.kind in _OF_THE_ENGINE:
            return _OF_THE_ENGINE[job.kind](context)
        corpus = self._state.corpora.get(job.corpus)
        return _OF_A_CORPUS[job.kind](context, corpus) if corpus else GONE

    def _configure(self) -> str:
        corpora, before = self._next_corpora, self._state.corpora
        indexes = self._state.snapshot.corpora
        held = {name: index.rows.n_artifacts for name, index in indexes.items()}
        self.publisher.set_corpora(corpora)
        for corpus in corpora:
            changed = corpus is not before.get(corpus.name)
            if changed and corpus.reindex.on != MANUAL:
                self._state.request(Job("reconcile", corpus.name))
        data = {"generation": self._state.snapshot.generation, "corpus": ""}
        self._state.notify("generation", data)
        return described(before, self._state.corpora, held)

    def _note_use(self) -> None:
        if self._state.usage is not None:
            self._state.usage.tick(self._state.corpora)

    def _pause(self, job: Job) -> bool:
        """Run what is more urgent than a long job; end that where it must not go on.

        Returns whether a scan of its corpus was run.
        """
        state, ledger, scanned = self._state, self._state.ledger, False
        self._note_use()
        if state.work.stopping:
            raise Unavailable("stopped; the next start goes on from here")
        while urgent := state.work.take_before(job):
            self._run(urgent)
            scanned |= urgent.is_scan_of(job.corpus)
        if job.kind in _LEVEL_WITH_SNAPSHOT:
            self._eraser.tick()
        if state.ledger is not ledger:
            raise Unavailable("the ledger was replaced; every corpus is scanned anew")
        if job.corpus not in state.corpora:
            raise NotFound(GONE)
        return scanned


def _without_text(error: Exception) -> str:
    """Return how a job's report names an error: what may quote a document is left out."""
    return repr(error) if isinstance(error, sqlite3.Error) else f"an error: {type(error).__name__}"
