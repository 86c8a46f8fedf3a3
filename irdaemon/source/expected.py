"""The expected contents of a corpus by the paths of files alone: the measure of its coverage.

A source that finds files has a method `expected`. A walk of the roots asks it about each file
and directory met; how the source itself finds them plays no part, so that its mistakes show.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.source.tree import PRUNED

PRUNED_REASON = "version control, dependencies, caches"


@dataclass(frozen=True, slots=True)
class SeenPath:
    """A file or directory met below a root.

    `path` is in a real directory, `relative` is the path below the root by which it was reached,
    and `top` the real path of that root. Of a root that is a file, `path` is `top`. `is_link` is
    whether it is a symbolic link itself.
    """

    path: str
    relative: str
    top: str
    is_link: bool = False

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return os.path.basename(self.path)

    @property
    def depth(self) -> int:
        """Return how many directories lie between the root and this."""
        return self.relative.count(os.sep)


# The reason for which something is left out, "" where it is not, None where it is not counted.
Judge = Callable[[SeenPath], str | None]


def get_path(seen: SeenPath) -> str:
    """Return the path of the entry that a file is."""
    return seen.path


def get_directory(seen: SeenPath) -> str:
    """Return the path of the entry whose directory holds a telling file."""
    return os.path.dirname(seen.path)


@dataclass(frozen=True, slots=True)
class Expected:
    """Which files should be entries, and which directories may hold any.

    `entry` gives the path of the entry that a file tells of.
    """

    file: Judge
    directory: Judge
    entry: Callable[[SeenPath], str] = get_path


def explain_skip(seen: SeenPath, max_depth: int) -> str:
    """Return why a directory is not searched by sources that search a few levels deep."""
    if seen.name in PRUNED:
        return PRUNED_REASON
    return f"deeper than {max_depth} levels" if seen.depth >= max_depth else ""
