"""Find files that match, below directories that are neither excluded nor ignored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from irdaemon.source.asset_types import get_suffix
from irdaemon.source.expected import PRUNED_REASON
from irdaemon.source.opening import follow_link, read_regular, resolve_path
from irdaemon.source.tree import (
    PRUNED,
    LeftOut,
    Symlinks,
    Walk,
    check_root,
    is_directory,
    is_regular,
    make_entry,
)
from irdaemon.types import Entry, Problem, Root, SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# Honour git's ignore files: nested, negated, and the repository's own exclude file.

_LIMIT = 1_000_000
# Each path is compared with every pattern of an ignore file: those beyond are passed over.
_MOST_PATTERNS = 10_000
# How a star is written in the regular expression of a pattern, and any one character.
_STAR, _CHARACTER = "[^/]*", "[^/]"
# With so many `**` that can end anywhere, a path is compared in every way that they may lie in it.
_MOST_DEEP = 3


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one ignore file, which speak about paths below `base`."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str) -> bool | None:
        return self.spec.check_file(path[len(self.base.rstrip("/")) + 1 :]).include


class Ignores:
    """Decide which paths git would ignore; reads each ignore file once.

    Rules come from a directory up to its repository, or up to one of `tops` where no repository
    is around it.
    """

    def __init__(self, tops: Iterable[str]):
        self._tops = frozenset(tops)
        self._chains: dict[str, tuple[_Rules, ...] | None] = {}

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Return whether an absolute path is ignored, its parent directory not being so."""
        asked = path + "/" if is_directory else path
        for rules in self._chain(os.path.dirname(path)) or ():
            verdict = rules.verdict(asked)
            if verdict is not None:
                return verdict
        return False

    def _chain(self, directory: str) -> tuple[_Rules, ...] | None:
        """Return the rules that apply in a directory, strongest first; None outside any scope."""
        if directory not in self._chains:
            self._chains[directory] = self._gathered(directory)
        return self._chains[directory]

    def _gathered(self, directory: str) -> tuple[_Rules, ...] | None:
        own = _read_rules(directory, os.path.join(directory, ".gitignore"))
        git = os.path.join(directory, ".git")
        if os.path.exists(git):
            return own + _read_rules(directory, os.path.join(git, "info", "exclude"))
        parent = os.path.dirname(directory)
        above = self._chain(parent) if parent != directory else None
        if above is None and directory not in self._tops:
            return None
        return own + (above or ())


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile gitignore-style patterns, passing over those git would not understand.

    None takes long for a path, whatever it is made of: a star matches as little as it can, and for
    good; of a pattern with more `**` than are tried, the beginning stands for all below it.
    """
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(line for line in _cut_deep_patterns(lines) if _is_valid(line))
    for pattern in spec.patterns:
        if pattern.regex is not None and pattern.regex.pattern.count(_STAR) > 1:
            pattern.regex = re.compile(_remove_backtracking(pattern.regex.pattern))
    return spec


def _cut_deep_patterns(lines: Iterable[str]) -> Iterator[str]:
    """Yield patterns, the beginning of those with too many `**`; none that would include more."""
    for line in islice(lines, _MOST_PATTERNS):
        parts = line.split("/")
        deep = [at for at in range(1, len(parts)) if parts[at] == "**" != parts[at - 1]]
        if len(deep) <= _MOST_DEEP:
            yield line
        elif not line.startswith("!"):
            yield "/".join(parts[: deep[_MOST_DEEP - 1] + 1])


def _remove_backtracking(regex: str) -> str:
    """Return the regular expression of a pattern in which no star is tried twice from one place.

    Within a name what stands between two stars is best where it comes first: what matches later
    leaves less for the rest.
    """
    first, *rest = regex.split(_STAR)
    parts = (
        f"{_STAR}{part}" if "/" in part.replace(_CHARACTER, "") else f"(?>{_STAR}?{part})"
        for part in rest
    )
    return first + "".join(parts)


def ignore_case(suffix: str) -> str:
    """Return a pattern that matches a suffix in capitals too."""
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in suffix)


def _is_valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _read_rules(base: str, path: str) -> tuple[_Rules, ...]:
    try:
        data = read_regular(follow_link(path), _LIMIT)
    except (FileNotFoundError, SourceError):
        return ()
    return (
        _Rules(base, compile_patterns(data.decode("utf-8-sig", errors="replace").splitlines())),
    )


_OUTSIDE = "outside the pattern"
_NEEDS = "needs "
_EXCLUDED = "excluded"
_IGNORED = "ignored by git"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which relative paths count, and which ignore rules apply on top (None: none).

    `unreadable` has the suffixes that nothing here reads, each with the command to install what
    does, `unwanted` patterns of what is left out by the reason that it is called by.
    """

    wanted: GitIgnoreSpec
    excluded: GitIgnoreSpec
    ignores: Ignores | None
    unreadable: Mapping[str, str]
    unwanted: Mapping[str, GitIgnoreSpec] = field(default_factory=dict)

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
