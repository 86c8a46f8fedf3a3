"""What waits to be done: a queue that joins equal wishes and puts the urgent ones first."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.ingest import Look

# Lower is sooner: a change somebody just made, a whole look, vectors, upkeep.
_URGENCY = {"configure": 0, "reconcile": 1, "embed": 2, "retry": 3, "calibrate": 3, "compact": 4}
CHANGE = 0


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do: `kind` is configure, reconcile, embed, retry, calibrate or compact."""

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

    def paths(self) -> int:
        """Count the changed paths that wait, a whole look as one."""
        return sum(
            max(1, len(job.look.under)) for job in self._waiting.values() if job.kind == "reconcile"
        )

    def drop(self, corpus: str) -> list[Job]:
        """Remove and return what waits for a corpus that is no more."""
        dropped = [job for job in self._waiting.values() if job.corpus == corpus]
        self._waiting = {key: job for key, job in self._waiting.items() if job not in dropped}
        return dropped


def _joined(one: Look, other: Look) -> Look:
    return Look(
        under=tuple(dict.fromkeys(one.under + other.under)),
        full=one.full or other.full,
        prune=one.prune or other.prune,
    )
