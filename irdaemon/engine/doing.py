"""Doing: the writer side, one job after another."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable

from irclient.errors import IRError, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.embed.absent import Absent
from irdaemon.engine.publishing import GONE
from irdaemon.engine.queue import CHANGE, Job, Progress
from irdaemon.engine.upkeep import Upkeep
from irdaemon.ingest.reconcile import embed, reconcile
from irdaemon.ingest.redact import recleaned
from irdaemon.runtime.profile import note
from irdaemon.types import SourceError

# Texts embedded in one go: short enough that a change need not wait for the rest.
_EMBEDDED_AT_ONCE = 512
# A change this small gets its vectors before it is published.
_EMBEDDED_WITH_CHANGE = 64


class Doing(Upkeep):
    """Take jobs from the queue and do them. It belongs to the writer, or to a library call."""

    def reconfigure(self, corpora: Iterable[Corpus]) -> list[int]:
        """Have the writer make these the corpora and look at each; return the jobs' numbers."""
        self._next_corpora = tuple(corpora)
        return [self.request(Job("configure"))]

    def shed(self) -> None:
        """Have the writer let go of all that is only kept to be quick."""
        self.request(Job("shed"))

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

    def _run(self, job: Job) -> None:
        progress = self._work.progress(job.number)
        started = self._clock()
        state, report = "failed", "interrupted"
        try:
            report = _DOERS[job.kind](self, job, progress)
            state = "done"
            self._retries.done(job)
        except SourceError as error:  # the look's own fault
            report = error.message
            self._retries.note(job, self._clock())
        except IRError as error:
            report = error.message
        except Exception as error:
            report = _told(error)
            if not (self._recovered(job, error) or self._retried(job, error)):
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

    def _configure(self, job: Job, progress: Progress) -> str:
        corpora = self._next_corpora
        self.set_corpora(corpora)
        for corpus in corpora:
            self.request(Job("reconcile", corpus.name))
        self.notify("generation", {"generation": self.snapshot.generation, "corpus": ""})
        return f"{len(corpora)} corpora"

    def _reconcile(self, job: Job, progress: Progress) -> str:
        if not (corpus := self._corpora.get(job.corpus)):
            return GONE
        failed_before = {failure.key for failure in self.ledger.failures.all(corpus.name)}

        def advance(done: int, todo: int) -> None:
            progress.done, progress.todo = done, todo
            self._breathe(job, corpus)

        above = self.ledger.index_rows.last_record()
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
            self.ledger.pins.rewrite(corpus.name, lambda text: recleaned(text, corpus.redaction))
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
            return GONE
        embedder = self._embedders.named(corpus.embedder)
        index = self.snapshot.corpora[corpus.name]
        switching = index.embedder != embedder.id
        progress.todo = index.rows.n_records if switching else index.unembedded
        for batch in embed(self.ledger, corpus.name, embedder, _EMBEDDED_AT_ONCE):
            progress.done += batch
            progress.todo = max(progress.todo, progress.done)
            self._breathe(job, corpus)
        if not isinstance(embedder, Absent):
            self.ledger.corpora.serve(corpus.name, corpus.embedder, embedder.id)
        self._publish(corpus)
        self._calibrate_if_due(corpus)
        return f"{progress.done} records embedded"

    def _breathe(self, job: Job, corpus: Corpus) -> None:
        """Pause a long job: end it if told to, publish what there is, let changes through."""
        self._publish_if_due(corpus)
        self._let_others_go_first(job, corpus)


def _told(error: Exception) -> str:
    """Return what a job's report says of a fault: what may quote a document is left out."""
    return repr(error) if isinstance(error, sqlite3.Error) else f"a fault: {type(error).__name__}"


_DOERS: dict[str, Callable[[Doing, Job, Progress], str]] = {
    "mend": Doing._mend,
    "configure": Doing._configure,
    "reconcile": Doing._reconcile,
    "embed": Doing._embed,
    "retry": Doing._retry,
    "pin": Doing._pin,
    "calibrate": Doing._calibrate,
    "graph": Doing._graph,
    "image": Doing._image,
    "compact": Doing._compact,
    "shed": Doing._shed,
}
