"""The kinds of jobs: what runs each, and how urgent it is. Add-ons contribute theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from irdaemon.config.addons import load_addons, load_part

# Urgencies: a change runs at once, the first scans of a project before other whole scans, and
# upkeep after scans and embedding.
CHANGE, EARLY, UPKEEP = 0, 0.5, 3


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: `run` is its function's "module:attr", given the JobContext.

    The function of an `of_corpus` kind also gets the Corpus. The job with the lower `urgency` goes
    first. `logged` is whether the ledger logs each job; `reads_no_snapshot` marks long jobs during
    which rows of an image may be blanked.
    """

    run: str
    urgency: float
    of_corpus: bool = True
    logged: bool = True
    reads_no_snapshot: bool = False


_ENGINE = "irdaemon.engine"
# A change just made, a whole scan, vectors, upkeep. Unlogged kinds are so frequent that they would
# push all others out of the log.
JOBS: dict[str, JobKind] = {
    "repair": JobKind(f"{_ENGINE}.upkeep:repair_ledger", CHANGE, of_corpus=False),
    "configure": JobKind(f"{_ENGINE}.configure:configure", CHANGE, of_corpus=False),
    "shed": JobKind(f"{_ENGINE}.upkeep:shed", CHANGE, of_corpus=False),
    "project": JobKind(f"{_ENGINE}.project_parts:tend_project", CHANGE, of_corpus=False),
    "forget": JobKind(f"{_ENGINE}.project_parts:forget_known", CHANGE, of_corpus=False),
    "projects": JobKind(
        f"{_ENGINE}.project_parts:tend_projects", UPKEEP, of_corpus=False, logged=False
    ),
    "reconcile": JobKind(f"{_ENGINE}.indexing:reconcile_corpus", 1, reads_no_snapshot=True),
    "embed": JobKind(f"{_ENGINE}.indexing:embed_corpus", 2, logged=False, reads_no_snapshot=True),
    "retry": JobKind(f"{_ENGINE}.upkeep:retry_failures", UPKEEP, of_corpus=False),
    "pin": JobKind(f"{_ENGINE}.upkeep:note_disclosures", UPKEEP, of_corpus=False, logged=False),
    "calibrate": JobKind(f"{_ENGINE}.indexing:calibrate_corpus", UPKEEP),
    "graph": JobKind(f"{_ENGINE}.upkeep:build_corpus_graph", 4),
    "image": JobKind(f"{_ENGINE}.upkeep:save_image", 4),
    "compact": JobKind(f"{_ENGINE}.upkeep:compact", 5, of_corpus=False),
    **{kind: JobKind(*row) for addon in load_addons().values() for kind, row in addon.jobs.items()},
}


@cache
def find_runner(kind: str) -> Callable[..., str]:
    """Return the function that runs jobs of a kind; import its module on first use."""
    runner: Callable[..., str] = load_part(JOBS[kind].run)
    return runner
