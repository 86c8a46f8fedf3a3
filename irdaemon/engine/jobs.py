"""The kinds of jobs: what runs each, and how soon. Those of add-ons come with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from irdaemon.config.addons import load_addons, load_part

# How soon: a change at once, and before whole scans the first ones of a project.
CHANGE, EARLY = 0, 0.5


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of job: `run` is its function's "module:attr", given the JobContext.

    Where the kind is `of_corpus` the function is given the Corpus as well. Of two jobs that with
    the lower `urgency` goes first. `logged` is whether the ledger keeps a line of each;
    `reads_no_snapshot` is of long jobs beside which an image's rows may be blanked.
    """

    run: str
    urgency: float
    of_corpus: bool = True
    logged: bool = True
    reads_no_snapshot: bool = False


_ENGINE = "irdaemon.engine"
# A change just made, a whole scan, vectors, upkeep. What is not logged is so frequent that a line
# for each would push out all others.
JOBS: dict[str, JobKind] = {
    "repair": JobKind(f"{_ENGINE}.upkeep:repair_ledger", CHANGE, of_corpus=False),
    "configure": JobKind(f"{_ENGINE}.configure:configure", CHANGE, of_corpus=False),
    "shed": JobKind(f"{_ENGINE}.upkeep:shed", CHANGE, of_corpus=False),
    "project": JobKind(f"{_ENGINE}.project_parts:tend_project", CHANGE, of_corpus=False),
    "forget": JobKind(f"{_ENGINE}.project_parts:forget_known", CHANGE, of_corpus=False),
    "projects": JobKind(f"{_ENGINE}.project_parts:tend_projects", 3, of_corpus=False, logged=False),
    "reconcile": JobKind(f"{_ENGINE}.indexing:reconcile_corpus", 1, reads_no_snapshot=True),
    "embed": JobKind(f"{_ENGINE}.indexing:embed_corpus", 2, logged=False, reads_no_snapshot=True),
    "retry": JobKind(f"{_ENGINE}.upkeep:retry_failures", 3, of_corpus=False),
    "pin": JobKind(f"{_ENGINE}.upkeep:note_disclosures", 3, of_corpus=False, logged=False),
    "calibrate": JobKind(f"{_ENGINE}.indexing:calibrate_corpus", 3),
    "graph": JobKind(f"{_ENGINE}.upkeep:build_corpus_graph", 4),
    "image": JobKind(f"{_ENGINE}.upkeep:save_image", 4),
    "compact": JobKind(f"{_ENGINE}.upkeep:compact", 5, of_corpus=False),
    **{kind: JobKind(*row) for addon in load_addons().values() for kind, row in addon.jobs.items()},
}


@cache
def find_runner(kind: str) -> Callable[..., str]:
    """Return the function that runs jobs of a kind; its module is imported at the first one."""
    runner: Callable[..., str] = load_part(JOBS[kind].run)
    return runner
