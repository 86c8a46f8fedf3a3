"""What waits to be done: a queue that joins equal wishes and puts the urgent ones first."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from irclient.errors import NotFound
from irdaemon.ingest import Look

# Lower is sooner: a change somebody just made, a whole look, vectors, upkeep.
_URGENCY = {"mend": 0, "configure": 0, "reconcile": 1, "embed": 2, "retry": 3, "pin": 3}
_URGENCY |= {"calibrate": 3}
_URGENCY |= {"graph": 4, "image": 4, "compact": 5}
CHANGE = 0
_JOBS_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do: `kind` is one of those above."""

    kind: str
    corpus: str = ""
    look: Look = field(default_factory=Look)
    number: int = 0

    @property
    def urgency(self) -> int:
        """Return how soon this is wanted: 0 is at once."""
        changed = self.kind == "reconcile" and self.look.under
        return CHANGE if changed else _URGENCY[self.kind]


@dataclass(slots=True)
class Progress:
    """How far a job is: `state` is queued, running, done or failed."""

    job: Job
    state: str = "queued"
    done: int = 0
    todo: int = 0
    report: str = ""

    @property
    def ended(self) -> bool:
        """Say whether the job is done or has failed."""
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
        }


class JobQueue:
    """Hold the jobs to do, at most one for each kind, corpus and urgency."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, int], Job] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, job: Job) -> Job:
        """Add a job, joining it with one that already waits; return the one that waits now."""
        key = (job.kind, job.corpus, job.urgency)
        waiting = self._waiting.get(key)
        if waiting is None:
            job = replace(job, number=next(self._numbers))
        else:
            job = replace(waiting, look=_joined(waiting.look, job.look))
        self._waiting[key] = job
        return job

    def take(self, at_most: int = 99) -> Job | None:
        """Remove and return the most urgent job, of urgency `at_most` or sooner; None if none."""
        fit = [job for job in self._waiting.values() if job.urgency <= at_most]
        if not fit:
            return None
        job = min(fit, key=lambda each: (each.urgency, each.number))
        del self._waiting[(job.kind, job.corpus, job.urgency)]
        return job

    def paths(self, corpus: str = "") -> int:
        """Count the changed paths that wait, of one corpus or of all, a whole look as one."""
        return sum(
            max(1, len(job.look.under))
            for job in self._waiting.values()
            if job.kind == "reconcile" and corpus in ("", job.corpus)
        )

    def has(self, kind: str) -> bool:
        """Say whether a job of a kind waits."""
        return any(job.kind == kind for job in self._waiting.values())

    def drop(self, corpus: str) -> list[Job]:
        """Remove and return what waits for a corpus that is no more."""
        dropped = [job for job in self._waiting.values() if job.corpus == corpus]
        self._waiting = {key: job for key, job in self._waiting.items() if job not in dropped}
        return dropped


class Work:
    """What is to be done and how far it is; any thread may add, one writer takes."""

    def __init__(self) -> None:
        self._queue = JobQueue()
        self._progress: dict[int, Progress] = {}
        lock = threading.RLock()
        self._wake, self._ended = threading.Condition(lock), threading.Condition(lock)
        self.stopping = False

    def add(self, job: Job) -> int:
        """Queue a job, wake the writer and return the job's number."""
        with self._wake:
            job = self._queue.add(job)
            if job.number not in self._progress:
                self._remember(Progress(job))
            self._wake.notify()
        return job.number

    def take(self, timeout: float | None = 0) -> Job | None:
        """Remove and return the most urgent job, waiting up to `timeout` seconds for one."""
        with self._wake:
            if not len(self._queue) and timeout != 0:
                self._wake.wait(timeout)
            return self._begun(self._queue.take())

    def take_before(self, running: Job) -> Job | None:
        """Remove and return a change that need not wait for the job that runs."""
        if running.urgency == CHANGE:
            return None
        with self._wake:
            return self._begun(self._queue.take(at_most=CHANGE))

    def _begun(self, job: Job | None) -> Job | None:
        if job is not None:
            self._progress.setdefault(job.number, Progress(job)).state = "running"
        return job

    def end(self, number: int, state: str, report: str) -> None:
        """Mark a job as done or failed, and tell whoever waits."""
        with self._wake:
            progress = self._progress[number]
            progress.report, progress.state = report, state
            self._ended.notify_all()

    def tell(self) -> None:
        """Let whoever waits look again."""
        with self._wake:
            self._ended.notify_all()

    def wait_until(self, happened: Callable[[], bool], timeout: float) -> bool:
        """Wait until something is so, looking whenever a job ends; say whether it is."""
        with self._wake:
            return self._ended.wait_for(lambda: happened() or self.stopping, timeout) and happened()

    def looks(self, corpus: str) -> list[Progress]:
        """Return the looks at a corpus that wait or run now."""
        with self._wake:
            return [
                progress
                for progress in self._progress.values()
                if (progress.job.kind, progress.job.corpus) == ("reconcile", corpus)
                and not progress.ended
            ]

    def drop(self, corpus: str, why: str) -> None:
        """Fail what waits for a corpus that is no more."""
        with self._wake:
            for job in self._queue.drop(corpus):
                self.end(job.number, "failed", why)

    def stop(self) -> None:
        """Wake the writer for the last time."""
        with self._wake:
            self.stopping = True
            self._wake.notify()
            self._ended.notify_all()

    def progress(self, number: int) -> Progress:
        """Return how far a job is. Raises NotFound for one that is not remembered."""
        if number not in self._progress:
            raise NotFound(f"no job {number}", "the last few hundred are remembered")
        return self._progress[number]

    def running(self) -> list[Progress]:
        """Return the jobs that run now."""
        return [p for p in list(self._progress.values()) if p.state == "running"]

    def paths(self) -> int:
        """Count the changed paths that wait, a whole look as one."""
        with self._wake:
            return self._queue.paths()

    @property
    def queued(self) -> int:
        """Count the jobs that wait or run."""
        return len(self._queue) + len(self.running())

    def _remember(self, progress: Progress) -> None:
        self._progress[progress.job.number] = progress
        if len(self._progress) > _JOBS_REMEMBERED:
            ended = (n for n, p in self._progress.items() if p.ended)
            self._progress.pop(next(ended, 0), None)


def _joined(one: Look, other: Look) -> Look:
    return Look(
        under=tuple(dict.fromkeys(one.under + other.under)),
        full=one.full or other.full,
        prune=one.prune or other.prune,
    )
