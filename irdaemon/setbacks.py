"""Setbacks: jobs that a full disk or an I/O error has stopped, and when they are tried again.

Meanwhile the last snapshot answers. All of this belongs to the writer; others only read `trouble`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from irdaemon.jobs import Job, JobQueue

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the ledger cannot be written, and since when (Unix seconds)."""

    since: float
    error: str


class Setbacks:
    """Keep the jobs that failed until they have been done after all."""

    def __init__(self) -> None:
        self.trouble: Trouble | None = None
        self._waiting = JobQueue()
        self._tried: set[int] = set()
        self._wait_s = _FIRST_WAIT_S
        self._again_at = 0.0

    def paths(self, corpus: str = "") -> int:
        """Count the changed paths that wait for another try, of one corpus or of all."""
        return self._waiting.paths(corpus)

    def holds(self, kind: str) -> bool:
        """Say whether a job of a kind waits for another try."""
        return self._waiting.has(kind)

    def note(self, job: Job, error: str, now: float) -> None:
        """Keep a job that failed for another try."""
        if self.trouble is None:
            log.error(
                "the ledger cannot be written: %s; the last snapshot goes on answering", error
            )
        self.trouble = Trouble(self.trouble.since if self.trouble else now, error)
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
        """Note that a job has ended, whatever became of it, without another setback."""
        self._tried.discard(number)
        if self.trouble and not self._tried and not len(self._waiting):
            log.warning("the ledger is written again")
            self.trouble, self._wait_s = None, _FIRST_WAIT_S
