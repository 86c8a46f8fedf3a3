"""Find files that match, below directories that are neither excluded nor ignored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irdaemon.source.asset_types import get_suffix
from irdaemon.source.expected import PRUNED_REASON
from irdaemon.source.ignores import Ignores
from irdaemon.source.opening import resolve_path
from irdaemon.source.tree import (
    PRUNED,
    LeftOut,
    Symlinks,
    Walk,
    check_root,
    is_directory,
    is_regular,
    is_repository,
    make_entry,
)
from irdaemon.types import Entry, Problem, Root

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


_OUTSIDE = "outside the pattern"
_NEEDS = "needs "
_EXCLUDED = "excluded"
_IGNORED = "ignored by git"
_APART = "a repository of its own"


@dataclass(frozen=True, slots=True)
class Filter:
    """The relative paths that count, and the ignore rules that apply on top (None: none).

    `unreadable` has the suffixes without a reader, each with the command that installs it,
    `unwanted` patterns of files to leave out by their reasons. A project ends where another
    repository begins.
    """

    wanted: GitIgnoreSpec
    excluded: GitIgnoreSpec
    ignores: Ignores | None
    unreadable: Mapping[str, str]
    unwanted: Mapping[str, GitIgnoreSpec] = field(default_factory=dict)
    is_in_project: bool = False

    def explain_file(self, path: str, relative: str) -> str:
        """Return why a file does not count, "" where it does."""
        if not self.wanted.match_file(relative):
            return _OUTSIDE
        if self.excluded.match_file(relative):
            return _EXCLUDED
        if self.ignores and self.ignores.ignores(path, is_directory=False):
            return _IGNORED
        for why, spec in self.unwanted.items():
            if spec.match_file(relative):
                return why
        cure = self.unreadable.get(get_suffix(path))
        return f"{_NEEDS}{cure}" if cure else ""

    def explain_directory(self, path: str, relative: str) -> str:
        """Return why a directory is not searched, "" where it is."""
        if os.path.basename(path) in PRUNED:
            return PRUNED_REASON
        if self.excluded.match_file(relative + "/"):
            return _EXCLUDED
        if self.is_in_project and is_repository(path):
            return _APART
        ignored = self.ignores and self.ignores.ignores(path, is_directory=True)
        return _IGNORED if ignored else ""

    def may_search(self, top: str, path: str) -> bool:
        """Return whether every directory from a root (exclusive) down to `path` may be searched."""
        inside = os.path.relpath(path, top).split(os.sep) if path != top else []
        steps = ["/".join(inside[: i + 1]) for i in range(len(inside))]
        return not any(self.explain_directory(os.path.join(top, step), step) for step in steps)


@dataclass(slots=True)
class FileFinder:
    """The results of one scan so far, by real path; the first root to reach a file has it."""

    filter: Filter
    symlinks: Symlinks
    files: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)

    def search(self, root: Root, start: str) -> None:
        """Search from `start`, a real directory at or below the root's real path, downwards.

        A root that is a file was named itself: it counts whatever the patterns say.
        """
        if os.path.isfile(start):
            return self.add(start, root.scope)
        if problem := check_root(Root(start)):
            return self.problems.append(problem)
        walk = Walk(self.symlinks)

        def find_prefix(directory: str) -> str:
            """Return the path of a directory below the root, through the links to it."""
            return os.path.join(walk.reached[directory], "")[len(os.path.join(root.path, "")) :]

        def descend(entry: os.DirEntry[str]) -> bool:
            relative = find_prefix(os.path.dirname(entry.path)) + entry.name
            why_not = self.filter.explain_directory(entry.path, relative)
            if why_not:
                self.left_out.counts[f"directory: {why_not}"] += 1
            return not why_not

        for directory, found in walk.directories(start, descend):
            prefix = find_prefix(directory)
            for entry in found:
                why_not = self.filter.explain_file(entry.path, prefix + entry.name)
                if not is_regular(entry):
                    if not why_not and not is_directory(entry):
                        reason = "not a regular file, or a link that leads nowhere"
                        self.problems.append(Problem(entry.path, reason))
                elif not why_not:
                    self.add(entry.path, root.scope)
                elif why_not == _OUTSIDE or why_not.startswith(_NEEDS):
                    self.left_out.count_suffix(why_not, entry.name)
                else:
                    self.left_out.counts[why_not] += 1
        self.problems.extend(walk.problems)

    def add(self, path: str, scope: str) -> None:
        """Add a regular file, unless it has vanished."""
        try:
            status = os.stat(path)
        except OSError:
            return
        # The directory is real already, and it is slow to resolve a whole path.
        real = resolve_path(path) if os.path.islink(path) else path
        self.files.setdefault(real, make_entry(real, scope, status))
