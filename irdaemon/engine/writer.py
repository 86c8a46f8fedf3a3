"""The writer: it takes jobs from the queue and runs them, one after another."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from functools import partial

from irclient.errors import IRError, NotFound, Unavailable
from irdaemon.config.corpus import Corpus
from irdaemon.engine.jobs import CHANGE, JOBS, UPKEEP, find_runner
from irdaemon.engine.project_parts import ProjectUpkeep
from irdaemon.engine.publish import GONE, JobContext, Publisher
from irdaemon.engine.queue import Job, Progress
from irdaemon.engine.state import State
from irdaemon.engine.upkeep import Eraser, Release, Repair
from irdaemon.ingest.bulk import end_idle
from irdaemon.runtime.profile import note
from irdaemon.types import SourceError


class Writer:
    """Run jobs. All of it belongs to one thread: the daemon's writer, or a library's caller.

    `reconfigure` and `shed` only queue jobs; any thread may call them.
    """

    def __init__(self, state: State):
        self._state = state
        self.publisher = Publisher(state)
        self._repair = Repair(state, self.publisher)
        self._eraser = Eraser(state)
        self._release = Release(state)
        self._projects = ProjectUpkeep(state)

    def reconfigure(self, corpora: Iterable[Corpus]) -> list[int]:
        """Request that the corpora be replaced by these and scanned; return the jobs' numbers."""
        self._state.next_corpora = tuple(corpora)
        return [self._state.request(Job("configure"))]

    def shed(self) -> None:
        """Request that memory used only for speed be released."""
        self._state.request(Job("shed"))

    def step(self, timeout: float | None = 0) -> bool:
        """Run the most urgent job, waiting up to `timeout` seconds; return whether one ran."""
        self._repair.request_due()
        self._eraser.tick()
        self._tick_addons()
        self._projects.tick()
        self._release.tick()
        job = self._state.work.take(timeout)
        if job is None:
            return False
        self._run(job)
        return True

    def drain(self) -> None:
        """Run all waiting jobs: the engine without a writer thread."""
        while self.step():
            pass

    def _run(self, job: Job) -> None:
        state, progress = self._state, self._state.work.progress(job.number)
        started = state.clock()
        outcome, report = "failed", "interrupted"
        try:
            report = self._run_job(job, progress)
            outcome = "done"
        except SourceError as error:  # the scan itself failed
            report = error.message
            state.retries.note(job, state.clock())
        except IRError as error:
            report = error.message
        except Exception as error:
            report = _describe_error(error)
            if not self._repair.handles(job, error):
                raise
        finally:
            state.retries.settle(job, done=outcome == "done")
            state.work.end(job.number, outcome, report)
            took_ms = (state.clock() - started) * 1e3
            self._release.note_work(took_ms / 1e3)
            note(f"job {job.kind}", took_ms)
            state.notify("job", {**progress.to_dict(), "took_ms": round(took_ms, 1)})
        if JOBS[job.kind].logged and job.urgency != CHANGE and not progress.no_change:
            with contextlib.suppress(sqlite3.DatabaseError):  # the next job meets it again
                state.ledger.log_job(job.kind, job.corpus, progress.report, started, took_ms)

    def _run_job(self, job: Job, progress: Progress) -> str:
        context = JobContext(self._state, self.publisher, job, progress, partial(self._pause, job))
        if JOBS[job.kind].urgency >= UPKEEP:
            end_idle()  # no scan waits, and a build is largest while floors and image are made
        if not JOBS[job.kind].of_corpus:
            return find_runner(job.kind)(context)
        corpus = self._state.find_corpus(job.corpus)
        return find_runner(job.kind)(context, corpus) if corpus else GONE

    def _tick_addons(self) -> None:
        for addon in self._state.addons.values():
            addon.tick()

    def _pause(self, job: Job) -> bool:
        """Run jobs that are more urgent than a long one; end that one if it must not go on.

        Returns whether a scan of its corpus was run.
        """
        state, ledger, scanned = self._state, self._state.ledger, False
        self._tick_addons()
        if state.work.stopping:
            raise Unavailable("stopped; the next start goes on from here")
        while urgent := state.work.take_before(job):
            self._run(urgent)
            scanned |= urgent.is_scan_of(job.corpus)
        if JOBS[job.kind].reads_no_snapshot:
            self._eraser.tick()
        if state.ledger is not ledger:
            raise Unavailable("the ledger was replaced; every corpus is scanned again")
        if JOBS[job.kind].of_corpus and state.find_corpus(job.corpus) is None:
            raise NotFound(GONE)
        return scanned


def _describe_error(error: Exception) -> str:
    """Return a job's error as its report names it, without text that may quote a document."""
    return repr(error) if isinstance(error, sqlite3.Error) else f"an error: {type(error).__name__}"
