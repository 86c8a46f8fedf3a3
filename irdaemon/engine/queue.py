"""The queue of jobs: it joins equal requests and hands out the urgent ones first."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.errors import NotFound
from irdaemon.engine.jobs import CHANGE, EARLY, JOBS
from irdaemon.ingest.reconcile import Report
from irdaemon.ingest.scan import ScanRequest

# A heartbeat shows that a process lives; watermarks show whether it makes progress.


@dataclass(frozen=True, slots=True)
class FailedJob:
    """Why the last job of a kind failed, and when (Unix seconds)."""

    kind: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Watermarks:
    """How far a corpus has come; times are Unix seconds, None before the first.

    `changed_at` is when the newest change was seen, `indexed_at` when the newest change in the
    snapshot was. `waiting_since` is when the oldest waiting or running scan was requested.
    `refused` counts the entries that the last scan kept out and `refusal` says why; `missed_events`
    counts the changes that the last routine scan found without an event; `collapsed_at` is when too
    many changed paths waited and one scan replaced them; `left_out` counts what the last whole scan
    left out, by reason.
    """

    changed_at: float | None = None
    indexed_at: float | None = None
    waiting_since: float | None = None
    embedded_at: float | None = None
    failed_jobs: tuple[FailedJob, ...] = ()
    refused: int = 0
    refusal: str = ""
    missed_events: int = 0
    collapsed_at: float | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)

    def note_change(self, at: float) -> Watermarks:
        """Return them updated for an observed change."""
        return replace(self, changed_at=max(at, self.changed_at or at))

    def note_scan(self, request: ScanRequest, report: Report) -> Watermarks:
        """Return them updated for a scan."""
        marks = self
        if report.refused or not request.under:
            marks = replace(marks, refused=report.refused, refusal=report.refusal)
        if not request.under:
            marks = replace(marks, left_out=report.left_out)
        return replace(marks, missed_events=report.missed_events) if request.routine else marks

    def note_indexed(self, up_to: float) -> Watermarks:
        """Return them updated once every change observed until then is in the snapshot."""
        return replace(self, indexed_at=max(up_to, self.indexed_at or up_to))

    def note_embedded(self, at: float) -> Watermarks:
        """Return them updated once every record has its vector."""
        return replace(self.note_end(FailedJob("embed", "", at)), embedded_at=at)

    def note_end(self, job: FailedJob) -> Watermarks:
        """Return them updated for the end of a job; without a reason it did not fail."""
        others = tuple(each for each in self.failed_jobs if each.kind != job.kind)
        return replace(self, failed_jobs=others + ((job,) if job.reason else ()))


_JOBS_REMEMBERED = 256
# A job with more entries or records left takes seconds: scans of other corpora go first.
_LONG = 1_000


@dataclass(frozen=True, slots=True)
class Job:
    """A job to run: `kind` is one of JOBS.

    `first` and `last` are when it was first and last requested. A `short` one takes little time,
    and waits for no longer job. A `collapsed` one replaces more changed paths than may wait. An
    `early` one is the first scan of a part of a project: the query that made the project known
    waits for it.
    """

    kind: str
    corpus: str = ""
    scan: ScanRequest = field(default_factory=ScanRequest)
    number: int = 0
    first: float = 0.0
    last: float = 0.0
    collapsed: bool = False
    short: bool = False
    early: bool = False

    @property
    def urgency(self) -> float:
        """Return how urgent the job is; 0 is the most urgent."""
        changed = self.kind == "reconcile" and self.scan.under
        if changed or self.short:
            return CHANGE
        return EARLY if self.early else JOBS[self.kind].urgency

    def is_scan_of(self, corpus: str) -> bool:
        """Return whether this is a scan of a corpus."""
        return (self.kind, self.corpus) == ("reconcile", corpus)


@dataclass(slots=True)
class Progress:
    """The progress of a job: `state` is queued, running, done or failed.

    `no_change`: it was a whole scan, and found no change.
    """

    job: Job
    state: str = "queued"
    done: int = 0
    todo: int = 0
    report: str = ""
    since: float = 0.0
    no_change: bool = False

    @property
    def ended(self) -> bool:
        """Return whether the job is done or has failed."""
        return self.state in ("done", "failed")

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as plain data."""
        return {
            "number": self.job.number,
            "kind": self.job.kind,
            "corpus": self.job.corpus,
            "state": self.state,
            "done": self.done,
            "todo": self.todo,
            "report": self.report,
            "since": self.since,
        }


class JobQueue:
    """The waiting jobs, at most one for each kind, corpus and urgency.

    If more than `most_paths` changed paths of a corpus wait (0: no limit), one scan of the
    directory around them replaces them.
    """

    def __init__(self, most_paths: int = 0) -> None:
        self._most_paths = most_paths
        self._waiting: dict[tuple[str, str, float], Job] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job: Job, now: float = 0.0) -> Job:
        """Add a job, joining it with a waiting one of its kind; return the job that waits now."""
        key = (job.kind, job.corpus, job.urgency)
        waiting = self._waiting.get(key)
        if waiting is None:
            job = replace(job, number=next(self._numbers), first=now, last=now)
        else:
            job = replace(waiting, scan=merge_scans(waiting.scan, job.scan), last=now)
        if self._most_paths and len(job.scan.under) > self._most_paths:
            around = os.path.commonpath(job.scan.under)
            job = replace(job, scan=replace(job.scan, under=(around,)), collapsed=True)
        self._waiting[key] = job
        return job

    def find_oldest(self, corpus: str | None = None) -> float | None:
        """Return when the oldest job, or scan of a corpus, was requested; None if none waits."""
        jobs = self._waiting.values()
        requested = (job.first for job in jobs if corpus is None or job.is_scan_of(corpus))
        return min(requested, default=None)

    def take(self, at_most: float = 99) -> Job | None:
        """Remove and return the most urgent job, of urgency `at_most` or sooner, or None."""
        return self._take_first(job for job in self._waiting.values() if job.urgency <= at_most)

    def take_scan(self, busy: Collection[str]) -> Job | None:
        """Remove and return the first whole scan of a corpus that is not busy, or None."""
        scans = (job for job in self._waiting.values() if job.kind == "reconcile")
        free = (job for job in scans if job.urgency != CHANGE and job.corpus not in busy)
        return self._take_first(free)

    def _take_first(self, jobs: Iterable[Job]) -> Job | None:
        job = min(jobs, key=lambda each: (each.urgency, each.number), default=None)
        if job is not None:
            del self._waiting[(job.kind, job.corpus, job.urgency)]
        return job

    def count_paths(self, corpus: str = "") -> int:
        """Count the waiting changed paths of one corpus or of all; a whole scan counts as one."""
        return sum(
            max(1, len(job.scan.under))
            for job in tuple(self._waiting.values())  # readers call it while the writer takes
            if job.kind == "reconcile" and corpus in ("", job.corpus)
        )

    def has(self, kind: str) -> bool:
        """Return whether a job of a kind waits."""
        return any(job.kind == kind for job in self._waiting.values())

    def has_urgent(self) -> bool:
        """Return whether a job waits that must run at once."""
        return any(job.urgency == CHANGE for job in self._waiting.values())

    def drop(self, corpus: str) -> list[Job]:
        """Remove and return the waiting jobs of a removed corpus."""
        dropped = [job for job in self._waiting.values() if job.corpus == corpus]
        self._waiting = {key: job for key, job in self._waiting.items() if job not in dropped}
        return dropped


class Work:
    """The waiting, running and recently ended jobs; any thread may add, one writer takes.

    `last_progress` is when, on the monotonic clock, the writer last took or worked on a job.
    """

    def __init__(self, clock: Callable[[], float] = time.time, most_paths: int = 0) -> None:
        self._clock = clock
        self._queue = JobQueue(most_paths)
        self._marks: dict[str, Watermarks] = {}
        self.last_progress = time.monotonic()
        self._progress: dict[int, Progress] = {}
        # By number; in a dict, which a reader may copy while the writer changes it.
        self._running: dict[int, Progress] = {}
        lock = threading.RLock()
        self._wake, self._ended = threading.Condition(lock), threading.Condition(lock)
        self.stopping = False

    def add(self, job: Job) -> int:
        """Queue a job, wake the writer and return the job's number."""
        with self._wake:
            job = self._queue.add(job, self._clock())
            self._remember_job(job)
            marks = self._get_marks(job.corpus)
            if job.kind == "reconcile" and job.urgency == CHANGE:
                marks = self._marks[job.corpus] = marks.note_change(job.last)
            if job.collapsed:
                self._marks[job.corpus] = replace(marks, collapsed_at=job.last)
            self._wake.notify()
        return job.number

    def take(self, timeout: float | None = 0) -> Job | None:
        """Remove and return the most urgent job, waiting up to `timeout` seconds for one."""
        with self._wake:
            if not len(self._queue) and timeout != 0:
                self._wake.wait(timeout)
            self.last_progress = time.monotonic()
            return self._begin(self._queue.take())

    def take_before(self, running: Job) -> Job | None:
        """Remove and return a job that need not wait for the running one.

        That is a change or, during a long job, the scan of a corpus without a running job.
        """
        self.last_progress = time.monotonic()
        if running.urgency == CHANGE:
            return None
        with self._wake:
            change = self._queue.take(at_most=CHANGE)
            progress = self._progress.get(running.number)
            if change is None and progress and progress.todo - progress.done > _LONG:
                busy = {each.job.corpus for each in self.list_running()}
                return self._begin(self._queue.take_scan(busy))
            return self._begin(change)

    def _begin(self, job: Job | None) -> Job | None:
        if job is not None:
            progress = self._progress.setdefault(job.number, Progress(job))
            progress.state, progress.since = "running", self._clock()
            self._running[job.number] = progress
        return job

    def end(self, number: int, state: str, report: str) -> None:
        """Mark a job as done or failed, and wake waiting calls."""
        with self._wake:
            progress = self._progress[number]
            progress.report, progress.state = report, state
            self._running.pop(number, None)
            self._note_end(progress)
            self._ended.notify_all()

    def _note_end(self, progress: Progress) -> None:
        job = progress.job
        if not job.corpus or self.stopping or job.kind == "project":
            return
        failed, now = progress.state == "failed", self._clock()
        why = progress.report if failed else ""
        marks = self._get_marks(job.corpus).note_end(FailedJob(job.kind, why, now))
        if not failed and job.kind == "reconcile":
            marks = marks.note_indexed(job.last)
        if not failed and job.kind == "embed":
            marks = marks.note_embedded(now)
        self._marks[job.corpus] = marks

    def _get_marks(self, corpus: str) -> Watermarks:
        return self._marks.get(corpus, Watermarks())

    def note_embedded(self, corpus: str) -> None:
        """Note that every record of a corpus has its vector."""
        with self._wake:
            self._marks[corpus] = self._get_marks(corpus).note_embedded(self._clock())

    def note_scan(self, job: Job, report: Report) -> None:
        """Note how a scan ended."""
        with self._wake:
            marks = self._get_marks(job.corpus).note_scan(job.scan, report)
            if report.changed and job.kind == "reconcile":
                marks = marks.note_change(job.last)
            self._marks[job.corpus] = marks

    def get_watermarks(self, corpus: str) -> Watermarks:
        """Return the watermarks of a corpus."""
        with self._wake:
            requested = [p.job.first for p in self.list_running() if p.job.is_scan_of(corpus)]
            if (waiting := self._queue.find_oldest(corpus)) is not None:
                requested.append(waiting)
            return replace(self._get_marks(corpus), waiting_since=min(requested, default=None))

    def find_oldest(self) -> float | None:
        """Return when the oldest waiting job was requested; None if none waits."""
        with self._wake:
            return self._queue.find_oldest()

    def wake_waiting(self) -> None:
        """Wake every waiting call, to check its condition again."""
        with self._wake:
            self._ended.notify_all()

    def wait_until(self, happened: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds, checked whenever a job ends; return whether it did."""
        with self._wake:
            return self._ended.wait_for(lambda: happened() or self.stopping, timeout) and happened()

    def list_scans(self, corpus: str) -> list[Progress]:
        """Return the waiting and running scans of a corpus."""
        with self._wake:
            return [
                progress
                for progress in self._progress.values()
                if progress.job.is_scan_of(corpus) and not progress.ended
            ]

    def drop(self, corpus: str, why: str) -> None:
        """Fail the waiting jobs of a removed corpus."""
        with self._wake:
            for job in self._queue.drop(corpus):
                self.end(job.number, "failed", why)
            self._marks.pop(corpus, None)

    def stop(self) -> None:
        """Wake the writer for the last time."""
        with self._wake:
            self.stopping = True
            self._wake.notify()
            self._ended.notify_all()

    def progress(self, number: int) -> Progress:
        """Return the progress of a job. Raises NotFound for one that is not remembered."""
        if number not in self._progress:
            raise NotFound(f"no job {number}", "the last few hundred are remembered")
        return self._progress[number]

    def list_running(self) -> list[Progress]:
        """Return the running jobs."""
        return list(self._running.values())

    def count_pending(self) -> int:
        """Count the changed paths that wait or are being read; a whole scan counts as one."""
        scans = (p for p in self.list_running() if p.job.kind == "reconcile")
        return self._queue.count_paths() + sum(scan.todo - scan.done for scan in scans)

    @property
    def waiting(self) -> int:
        """Count the waiting jobs."""
        return len(self._queue)

    @property
    def change_waits(self) -> bool:
        """Return whether a change that was just made waits."""
        with self._wake:
            return self._queue.has_urgent()

    @property
    def queued(self) -> int:
        """Count the waiting and running jobs."""
        return len(self._queue) + len(self.list_running())

    def _remember_job(self, job: Job) -> None:
        progress = self._progress.setdefault(job.number, Progress(job))
        progress.job = job
        if len(self._progress) > _JOBS_REMEMBERED:
            ended = (n for n, p in self._progress.items() if p.ended)
            self._progress.pop(next(ended, 0), None)


def merge_scans(one: ScanRequest, other: ScanRequest) -> ScanRequest:
    """Return one scan that covers both."""
    return ScanRequest(
        under=tuple(dict.fromkeys(one.under + other.under)),
        full=one.full or other.full,
        prune=one.prune or other.prune,
        routine=one.routine and other.routine,
        from_start=one.from_start or other.from_start,
    )
