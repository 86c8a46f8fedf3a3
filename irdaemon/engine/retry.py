"""Retries: jobs that failed, and when they are tried again.

A full disk or an I/O error of the ledger stops every job; any other error stops its own. Meanwhile
the last snapshot answers. All of this belongs to the writer; others only read `problem`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from irdaemon.engine.queue import Job, JobQueue, joined
from irdaemon.source.opening import at_or_under

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class LedgerProblem:
    """Why the ledger cannot be written, and since when (Unix seconds)."""

    since: float
    error: str


class JobRetries:
    """Keep the jobs that failed because the ledger cannot be written, until they are done."""

    def __init__(self) -> None:
        self.problem: LedgerProblem | None = None
        self._waiting = JobQueue()
        self._tried: set[int] = set()
        self._wait_s = _FIRST_WAIT_S
        self._again_at = 0.0

    def paths(self, corpus: str = "") -> int:
        """Count the changed paths that wait for another try, of one corpus or of all."""
        return self._waiting.paths(corpus)

    def holds(self, kind: str) -> bool:
        """Return whether a job of a kind waits for another try."""
        return self._waiting.has(kind)

    def note(self, job: Job, error: str, now: float) -> None:
        """Keep a job that failed for another try."""
        if self.problem is None:
            log.error(
                "the ledger cannot be written: %s; the last snapshot goes on answering", error
            )
        self.problem = LedgerProblem(self.problem.since if self.problem else now, error)
        self._tried.discard(job.number)
        self._waiting.add(job)
        self._again_at = now + self._wait_s
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)

    def due(self, now: float) -> list[Job]:
        """Return the jobs to try again now; each then counts as waiting until `tried` and `end`."""
        if 0 < self._again_at - now <= _LONGEST_WAIT_S:  # beyond that the clock was set back
            return []
        jobs = []
        while job := self._waiting.take():
            jobs.append(job)
        return jobs

    def tried(self, number: int) -> None:
        """Note under which number a job is tried again."""
        self._tried.add(number)

    def end(self, number: int) -> None:
        """Note that a job has ended without the ledger failing it once more."""
        self._tried.discard(number)
        if self.problem and not self._tried and not len(self._waiting):
            log.warning("the ledger is written again")
            self.problem, self._wait_s = None, _FIRST_WAIT_S


@dataclass(frozen=True, slots=True)
class Failing:
    """A job that failed `times` times in a row, and when it is tried again; None while it is."""

    job: Job
    times: int
    again_at: float | None


class ScanRetries:
    """Keep the jobs that failed by an error of their own, each with a wait that doubles.

    Unlike a ledger that cannot be written, such an error is about one corpus: the others go on.
    """

    def __init__(self) -> None:
        self._failing: dict[tuple[str, str, int], Failing] = {}

    def note(self, job: Job, now: float) -> Failing:
        """Keep a job that failed for another try; scans of several paths become one.

        What fails while an earlier one waits waits with it: a burst of changes is one try.
        """
        failing = Failing(job, 1, now + _FIRST_WAIT_S)
        if before := self._failing.get(_kept_as(job)):
            together = replace(job, scan=joined(before.job.scan, job.scan))
            wait_s = min(_FIRST_WAIT_S * 2**before.times, _LONGEST_WAIT_S)
            failing = Failing(together, before.times + 1, now + wait_s)
            if before.again_at is not None:
                failing = replace(before, job=together)
        self._failing[_kept_as(job)] = failing
        return failing

    def done(self, job: Job) -> None:
        """Note that a job was done; changed paths that it did not scan wait on."""
        failing = self._failing.pop(_kept_as(job), None)
        if failing is None:
            return
        done, failed = job.scan.under, failing.job.scan.under
        left = tuple(path for path in failed if not any(at_or_under(path, top) for top in done))
        if left:
            rest = replace(failing.job, scan=replace(failing.job.scan, under=left))
            self._failing[_kept_as(job)] = replace(failing, job=rest)

    def forget(self, corpus: str) -> None:
        """Forget the jobs of a corpus that is no more."""
        self._failing = {key: each for key, each in self._failing.items() if key[1] != corpus}

    def paths(self, corpus: str = "") -> int:
        """Count the changed paths that wait for another try, of one corpus or of all."""
        waiting = [each.job for each in tuple(self._failing.values()) if each.again_at is not None]
        scans = (job for job in waiting if job.kind == "reconcile" and corpus in ("", job.corpus))
        return sum(max(1, len(job.scan.under)) for job in scans)

    def due(self, now: float) -> list[Job]:
        """Return the jobs to try again now."""
        due = {
            key: each
            for key, each in self._failing.items()
            # Where the clock was set back nothing is to wait for it.
            if each.again_at is not None and not 0 < each.again_at - now <= _LONGEST_WAIT_S
        }
        self._failing |= {key: replace(each, again_at=None) for key, each in due.items()}
        return [each.job for each in due.values()]


def _kept_as(job: Job) -> tuple[str, str, int]:
    """Return what is retried as one: a whole scan is not a scan of a changed path."""
    return job.kind, job.corpus, job.urgency
