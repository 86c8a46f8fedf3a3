"""Retries: failed jobs, and when they are tried again. Meanwhile the last snapshot answers.

A job's own error concerns one corpus: that job waits, twice as long after each failure, and the
others go on. If the ledger cannot be written (a full disk, an I/O error) every job fails: all of
them wait together, and `Retries.problem` says why.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from irdaemon.engine.queue import Job, merge_scans
from irdaemon.source.opening import is_within

log = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class LedgerProblem:
    """Why the ledger cannot be written, and since when (Unix seconds)."""

    since: float
    error: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A job that failed `times` times in a row by an error of its own.

    `again_at` is when it is tried again, None while it is; `by_ledger` whether its last failure was
    the ledger's.
    """

    job: Job
    times: int
    again_at: float | None
    by_ledger: bool = False

    @property
    def waits(self) -> bool:
        """Return whether the job waits for another try."""
        return self.again_at is not None


class Retries:
    """The failed jobs that are not done yet. Only the writer changes it, any thread may read."""

    def __init__(self) -> None:
        self.problem: LedgerProblem | None = None
        self._failed: dict[tuple[str, str, float], Retry] = {}
        self._ledger_wait_s = _FIRST_WAIT_S
        self._ledger_again_at = 0.0

    def note(self, job: Job, now: float) -> Retry:
        """Add a job that failed by an error of its own; scans of several paths become one.

        A job that fails while an earlier one of its key waits joins it: a burst of changes is one
        try.
        """
        before = self._failed.get(_make_key(job))
        if before is None:
            failed = Retry(job, 1, now + _FIRST_WAIT_S)
        elif before.waits:
            failed = replace(before, job=_join(before.job, job))
        else:
            wait_s = min(_FIRST_WAIT_S * 2**before.times, _LONGEST_WAIT_S)
            failed = Retry(_join(before.job, job), before.times + 1, now + wait_s)
        self._failed[_make_key(job)] = failed
        return failed

    def note_unwritable(self, job: Job, error: str, now: float) -> None:
        """Add a job that failed because the ledger cannot be written."""
        if self.problem is None:
            log.error(
                "the ledger cannot be written: %s; the last snapshot goes on answering", error
            )
        self.problem = LedgerProblem(self.problem.since if self.problem else now, error)
        self._ledger_again_at = now + self._ledger_wait_s
        self._ledger_wait_s = min(2 * self._ledger_wait_s, _LONGEST_WAIT_S)
        before = self._failed.get(_make_key(job))
        kept, times = (_join(before.job, job), before.times) if before else (job, 0)
        self._failed[_make_key(job)] = Retry(kept, times, self._ledger_again_at, by_ledger=True)

    def take_due(self, now: float) -> list[Job]:
        """Return the jobs to try again now; each counts as tried until it is noted or settled."""
        due = {key: each for key, each in self._failed.items() if self._is_due(each, now)}
        self._failed |= {key: replace(each, again_at=None) for key, each in due.items()}
        return [each.job for each in due.values()]

    def _is_due(self, failed: Retry, now: float) -> bool:
        again_at = self._ledger_again_at if failed.by_ledger else failed.again_at
        # A wait beyond the longest one means that the clock was set back.
        return failed.waits and again_at is not None and not 0 < again_at - now <= _LONGEST_WAIT_S

    def settle(self, job: Job, done: bool) -> None:
        """Note that a job ended without a failure of the ledger; call it after `note`.

        If it was done, only the rest of the failed job is kept: other paths, or a fuller scan.
        """
        failed = self._failed.get(_make_key(job))
        if failed is not None and done:
            del self._failed[_make_key(job)]
            if (left := _subtract(failed.job, job)) is not None:
                self._failed[_make_key(job)] = replace(failed, job=left)
        elif failed is not None and failed.by_ledger and not failed.waits:
            del self._failed[_make_key(job)]
        if self.problem and not any(each.by_ledger for each in self._failed.values()):
            log.warning("the ledger is written again")
            self.problem, self._ledger_wait_s = None, _FIRST_WAIT_S

    def forget(self, corpus: str) -> None:
        """Forget the jobs of a removed corpus."""
        self._failed = {key: each for key, each in self._failed.items() if key[1] != corpus}

    def count_paths(self, corpus: str = "", by_ledger: bool = False) -> int:
        """Count the changed paths that wait for another try, of one corpus or of all.

        With `by_ledger`, count only those that failed because of the ledger.
        """
        return sum(
            max(1, len(each.job.scan.under))
            for each in tuple(self._failed.values())
            if each.waits and each.job.kind == "reconcile" and corpus in ("", each.job.corpus)
            if each.by_ledger or not by_ledger
        )

    def holds(self, kind: str) -> bool:
        """Return whether a job of a kind waits for another try."""
        return any(each.waits for key, each in self._failed.items() if key[0] == kind)


def _make_key(job: Job) -> tuple[str, str, float]:
    """Return the key by which retries join: a whole scan differs from one of a changed path."""
    return job.kind, job.corpus, job.urgency


def _join(before: Job, job: Job) -> Job:
    return replace(job, scan=merge_scans(before.scan, job.scan))


def _subtract(failed: Job, done: Job) -> Job | None:
    """Return the rest of a failed job after another of its key was done, or None."""
    wanted, did = failed.scan, done.scan
    if wanted.under:
        left = tuple(p for p in wanted.under if not any(is_within(p, top) for top in did.under))
        return replace(failed, scan=replace(wanted, under=left)) if left else None
    fuller = (wanted.full, did.full), (wanted.prune, did.prune), (wanted.from_start, did.from_start)
    return failed if any(each and not also for each, also in fuller) else None
