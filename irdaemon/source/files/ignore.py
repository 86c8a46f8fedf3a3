"""Honour git's ignore files: nested, negated, and the repository's own exclude file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irdaemon.source.opening import followed, read_regular
from irdaemon.types import SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_LIMIT = 1_000_000


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
        own = _rules(directory, os.path.join(directory, ".gitignore"))
        git = os.path.join(directory, ".git")
        if os.path.exists(git):
            return own + _rules(directory, os.path.join(git, "info", "exclude"))
        parent = os.path.dirname(directory)
        above = self._chain(parent) if parent != directory else None
        if above is None and directory not in self._tops:
            return None
        return own + (above or ())


def patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile gitignore-style patterns, passing over those git would not understand."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([line for line in lines if _is_valid(line)])


def in_any_case(suffix: str) -> str:
    """Return a pattern that matches a suffix in capitals too."""
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in suffix)


def _is_valid(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _rules(base: str, path: str) -> tuple[_Rules, ...]:
    try:
        data = read_regular(followed(path), _LIMIT)
    except (FileNotFoundError, SourceError):
        return ()
    return (_Rules(base, patterns(data.decode("utf-8-sig", errors="replace").splitlines())),)
