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
    """Which relative paths count, and which ignore rules apply on top (None: none).

    `unreadable` has the suffixes that nothing here reads, each with the command to install what
    does, `unwanted` patterns of what is left out by the reason that it is called by. What is in a
    project ends where another repository begins.
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

    def passes_below(self, top: str, path: str) -> bool:
        """Return whether every directory from a root (exclusive) down to `path` may be searched."""
        inside = os.path.relpath(path, top).split(os.sep) if path != top else []
        steps = ["/".join(inside[: i + 1]) for i in range(len(inside))]
        return not any(self.explain_directory(os.path.join(top, step), step) for step in steps)


@dataclass(slots=True)
class FileFinder:
    """What one scan has found so far, by real path; the first root to reach a file has it."""

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
            return self.keep(start, root.scope)
        problem = check_root(Root(start))
        if problem:
            return self.problems.append(problem)
        walk = Walk(self.symlinks)

        def below_root(directory: str) -> str:
            """Return what comes before a name below the root, by the links that led there."""
            return os.path.join(walk.reached[directory], "")[len(os.path.join(root.path, "")) :]

        def descend(entry: os.DirEntry[str]) -> bool:
            relative = below_root(os.path.dirname(entry.path)) + entry.name
            why_not = self.filter.explain_directory(entry.path, relative)
            if why_not:
                self.left_out.counts[f"directory: {why_not}"] += 1
            return not why_not

        for directory, found in walk.directories(start, descend):
            above = below_root(directory)
            for entry in found:
                why_not = self.filter.explain_file(entry.path, above + entry.name)
                if not why_not:
                    self._offer(entry, root.scope)
                elif is_regular(entry):
                    self._leave_out(entry.name, why_not)
        self.problems.extend(walk.problems)

    def keep(self, path: str, scope: str) -> None:
        """Note a regular file; one that vanished meanwhile is no longer there to note."""
        try:
            status = os.stat(path)
        except OSError:
            return
        # The directory is real already: to resolve the whole path is dear.
        real = resolve_path(path) if os.path.islink(path) else path
        self.files.setdefault(real, make_entry(real, scope, status))

    def _leave_out(self, name: str, why: str) -> None:
        if why == _OUTSIDE or why.startswith(_NEEDS):
            self.left_out.by_suffix(why, name)
        else:
            self.left_out.counts[why] += 1

    def _offer(self, entry: os.DirEntry[str], scope: str) -> None:
        if is_regular(entry):
            self.keep(entry.path, scope)
        elif not is_directory(entry):
            reason = "not a regular file, or a link that leads nowhere"
            self.problems.append(Problem(entry.path, reason))
