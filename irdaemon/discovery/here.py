"""The place a query comes from, and which artifacts are nearer to it than others.

The nearest are kept in the directory of the place, then in those above it up to the project's root,
then elsewhere in the project; the person's own come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from irdaemon.index import Card
from irdaemon.ledger import StoredArtifact
from irdaemon.types import Hit, Project

# Farther than any number of directories between a place and the root above it.
_ELSEWHERE, _OUTSIDE = 1_000, 10_000
# Field of a project's artifact: the directory that it is the project of.
ROOT = "project_root"
# Fields of a session: its directory, and the project it names in a hit from another project.
CWD, OTHER_PROJECT = "cwd", "other_project"


@dataclass(frozen=True, slots=True)
class Here:
    """The project that a query comes from, and the real path of its place.

    In the corpora of `one_of_a_name` only the nearest item of a name is served.
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
        # A directory's own artifacts lie in it, or in one for agents (.claude).
        own = shared >= len(kept) - 1 or kept[shared].startswith(".")
        return len(place) - shared if own else _ELSEWHERE

    def holds(self, fields: Mapping[str, Any]) -> bool:
        """Return whether an artifact, by its fields, is a session in the project's directories."""
        return is_inside(str(fields.get(CWD) or ""), self.project.root)

    def name_other(self, hit: Hit) -> Hit:
        """Return a hit, with the name of its project if it is a session of another one."""
        cwd = hit.fields.get(CWD)
        if not cwd or self.holds(hit.fields):
            return hit
        other = str(hit.fields.get("project") or cwd)
        return replace(hit, fields={**hit.fields, OTHER_PROJECT: other})


def is_inside(path: str, root: str) -> bool:
    """Return whether a path is a directory or below it, comparing strings only."""
    return path == root or path.startswith(f"{root}/")


def _split(path: str) -> list[str]:
    return [part for part in str(path).split("/") if part]
