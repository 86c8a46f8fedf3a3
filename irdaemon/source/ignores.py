"""Honour git's ignore files: nested, negated, and the repository's own exclude file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from irdaemon.source.opening import is_within, read_regular, resolve_path
from irdaemon.types import SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_LIMIT = 1_000_000
# Each path is compared with every pattern of an ignore file: those beyond are passed over.
_MOST_PATTERNS = 10_000
# How a star is written in the regular expression of a pattern, and any one character.
_STAR, _CHARACTER = "[^/]*", "[^/]"
# With more `**` that can end anywhere, a path is compared in too many ways.
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
    is around it; never from above `project`, the root of one.
    """

    def __init__(self, tops: Iterable[str], project: str = ""):
        self._tops = frozenset(tops)
        self._project = project
        self._chains: dict[str, tuple[_Rules, ...] | None] = {}

    def ignores(self, path: str, is_directory: bool) -> bool:
        """Return whether an absolute path is ignored, its parent directory not being so."""
        asked = path + "/" if is_directory else path
        for rules in self._list_rules(os.path.dirname(path)) or ():
            verdict = rules.verdict(asked)
            if verdict is not None:
                return verdict
        return False

    def ignores_file(self, path: str) -> bool:
        """Return whether a file in the project is ignored, or a directory around it."""
        return self.ignores_around(os.path.dirname(path)) or self.ignores(path, False)

    def ignores_around(self, path: str) -> bool:
        """Return whether a directory in the project is ignored, or one around it."""
        while path.startswith(self._project + "/"):
            if self.ignores(path, is_directory=True):
                return True
            path = os.path.dirname(path)
        return False

    def _list_rules(self, directory: str) -> tuple[_Rules, ...] | None:
        """Return the rules that apply in a directory, strongest first; None outside any scope."""
        pending: list[str] = []
        while directory not in self._chains:
            pending.append(directory)
            parent = os.path.dirname(directory)
            if parent == directory or self._begins_at(directory):
                break
            directory = parent
        above = self._chains.get(directory)
        for each in reversed(pending):
            above = self._chains[each] = self._read_rules_of(each, above)
        return above

    def _begins_at(self, directory: str) -> bool:
        """Return whether rules from above a directory do not hold in it."""
        git = os.path.join(directory, ".git")
        return directory == self._project or os.path.lexists(git)

    def _find_exclude(self, directory: str) -> str:
        """Return where a repository's own exclude file lies; in a worktree that of its repository.

        A worktree names its repository in a file, which any checkout may hold: it counts where the
        repository lies below HOME and names the worktree back.
        """
        git = os.path.join(directory, ".git")
        named = _read_line(git) if self._project else ""
        if not named.startswith("gitdir: "):
            return os.path.join(git, "info", "exclude")
        own = os.path.normpath(os.path.join(directory, named.removeprefix("gitdir: ")))
        common = os.path.normpath(os.path.join(own, _read_line(os.path.join(own, "commondir"))))
        is_ours = is_within(resolve_path(own), resolve_path(os.path.expanduser("~")))
        if not is_ours or os.path.normpath(_read_line(os.path.join(own, "gitdir"))) != git:
            return ""
        return os.path.join(resolve_path(common), "info", "exclude")

    def _read_rules_of(
        self, directory: str, above: tuple[_Rules, ...] | None
    ) -> tuple[_Rules, ...] | None:
        own = _read_rules(directory, os.path.join(directory, ".gitignore"))
        if self._begins_at(directory):
            rules = own + _read_rules(directory, self._find_exclude(directory))
            return rules + (_read_rules(directory, _find_global()) if self._project else ())
        if above is None and directory not in self._tops:
            return None
        return own + (above or ())


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile gitignore-style patterns, passing over those git would not understand.

    No pattern takes long for any path: a star matches as little as it can, and for
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
    """Rewrite the regular expression of a pattern: no star is tried twice from one place.

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


def _find_global() -> str:
    """Return where the person's ignore file for all repositories lies: `core.excludesFile`."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for path in (os.path.expanduser("~/.gitconfig"), os.path.join(config, "git", "config")):
        parser = ConfigParser(strict=False, allow_no_value=True, interpolation=None)
        with suppress(ConfigError, OSError, SourceError):
            parser.read_string(read_regular(resolve_path(path), _LIMIT).decode("utf-8", "replace"))
            if named := parser.get("core", "excludesfile", fallback=""):
                return resolve_path(os.path.expanduser(named.strip('"')))
    return resolve_path(os.path.join(config, "git", "ignore"))


def _read_line(path: str) -> str:
    try:
        return read_regular(resolve_path(path), _LIMIT).decode("utf-8", "replace").strip()
    except (OSError, SourceError):
        return ""


def _read_rules(base: str, path: str) -> tuple[_Rules, ...]:
    if not path:
        return ()
    try:
        data = read_regular(path, _LIMIT)  # nor does git follow a link in its place
    except (FileNotFoundError, SourceError):
        return ()
    return (
        _Rules(base, compile_patterns(data.decode("utf-8-sig", errors="replace").splitlines())),
    )
