"""Where a query comes from, and what lies nearer to that place than another thing.

Nearest is what is kept in the directory of the place, then in those above it up to the project's
root, then elsewhere in the project; behind it comes what is the person's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from irdaemon.index import Card
from irdaemon.ledger import StoredArtifact
from irdaemon.types import Hit, Project

# Behind any number of directories between a place and the root above it.
_ELSEWHERE, _OUTSIDE = 1_000, 10_000
# Of an artifact of a project: the directory that it is the project of.
ROOT = "project_root"
# Of a session: where it was held. A hit of another project's names that under the other.
CWD, OTHER_PROJECT = "cwd", "other_project"


@dataclass(frozen=True, slots=True)
class Here:
    """The project that a query comes from, and the real path of its place.

    In the corpora of `one_of_a_name` one item of a name is served, the nearest.
    """

    project: Project
    place: str
    one_of_a_name: frozenset[str] = frozenset()

    def measure_distance(self, card: Card | StoredArtifact) -> int:
        """Return how far from the place an artifact is kept."""
        fields, root = card.fields, self.project.root
        if fields.get(ROOT) != root:
            return 0 if self.holds(fields) else _OUTSIDE
        kept = _split(fields.get("manifest") or card.pointer.removeprefix(root))
        place = _split(self.place.removeprefix(root))
        shared = next(
            (n for n, pair in enumerate(zip(kept, place, strict=False)) if pair[0] != pair[1]),
            min(len(kept), len(place)),
        )
        # What a directory has of its own lies in it, or in one for agents (.claude).
        own = shared >= len(kept) - 1 or kept[shared].startswith(".")
        return len(place) - shared if own else _ELSEWHERE

    def holds(self, fields: Mapping[str, Any]) -> bool:
        """Return whether an artifact, by its fields, is a session that was held in the project."""
        return is_inside(str(fields.get(CWD) or ""), self.project.root)

    def name_other(self, hit: Hit) -> Hit:
        """Return a hit, that of a session of another project with the name of that."""
        cwd = hit.fields.get(CWD)
        if not cwd or self.holds(hit.fields):
            return hit
        other = str(hit.fields.get("project") or cwd)
        return replace(hit, fields={**hit.fields, OTHER_PROJECT: other})


def is_inside(path: str, root: str) -> bool:
    """Return whether a path is a directory or below it, by its letters."""
    return path == root or path.startswith(f"{root}/")


def _split(path: str) -> list[str]:
    return [part for part in str(path).split("/") if part]
