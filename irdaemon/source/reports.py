"""Reports: the Markdown written in projects' docs folders, below a directory of projects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from irdaemon.source.files.document import read_text
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    Expected,
    LeftOut,
    SeenPath,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    is_regular,
    make_entry,
    make_scan,
    shorten_path,
)
from irdaemon.types import Entry, Problem, Reading, Root, Scan

_OPTIONS = {"exclude": [], "recursive": True, "max_bytes": 2_000_000}
_VENDORED = PRUNED | {"vendor", "vendored", "third_party", "site-packages", "dist", "build"}
# A project lies two or three levels below the root: group/project, group/kind/project.
_PROJECT_LEVELS = (2, 3)
_MARKDOWN = ".md"
_HIDDEN = "hidden or vendored directory"
_CAPITALS = "named in capitals"
_BELOW = "below a docs folder"
_DOCS = (("docs",), ("misc", "docs"))


class Reports(RootSource):
    """Enumerate and read the Markdown below `*/*/docs`, `*/*/misc/docs` and one level deeper.

    Left out are files named in capitals (README.md, CHANGELOG.md), hidden and vendored
    directories. Options: `exclude`, names of further directories to leave out; `recursive` (true),
    also look below the docs folders themselves; `max_bytes` (2,000,000), the largest file to read.
    A report's id is its path below the root; with several roots, in the home directory.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        given = read_options("reports", options, _OPTIONS)
        self._left_out = _VENDORED | frozenset(given["exclude"])
        self._recursive: bool = given["recursive"]
        self._max_bytes: int = given["max_bytes"]

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate reports, by a walk of the few levels above the docs of projects."""
        tops = tuple(resolve_path(root.path) for root in self._roots)
        where = EVERYTHING if under is None else confine_change(under, tops)
        inside = any(is_within(where, top) for top in tops)
        other = os.path.isfile(where) and not _is_report(os.path.basename(where))
        if where and (other or not inside):
            return Scan((), ())
        entries: dict[str, Entry] = {}
        problems: list[Problem] = []
        left_out = LeftOut()
        for root, top in zip(self._roots, tops, strict=True):
            problem = check_root(Root(top))
            problems += [problem] if problem else self._search(root, top, entries, left_out)
        found = (entry for entry in entries.values() if is_within(entry.path, where))
        return make_scan(found, where, problems, left_out.counts if where == EVERYTHING else {})

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one report as text."""
        project = _find_project(self._split_path(entry.path)[:-1])
        place = {"path": entry.key, "project": project}
        return Reading((read_text(entry, place, self._max_bytes),))

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected."""
        return Expected(_explain_file, self._explain_directory)

    def _explain_directory(self, seen: SeenPath) -> str | None:
        parts = tuple(seen.relative.split(os.sep))
        if seen.name.startswith(".") or seen.name in self._left_out:
            return _HIDDEN if _find_project(parts[:-1]) else None
        if not self._recursive and _find_project(parts[:-1]):
            return _BELOW
        return "" if _leads_to_docs(parts) else None

    def _search(
        self, root: Root, top: str, entries: dict[str, Entry], left_out: LeftOut
    ) -> list[Problem]:
        def descend(entry: os.DirEntry[str]) -> bool:
            parts = _split_below(entry.path, top)
            hidden = entry.name.startswith(".") or entry.name in self._left_out
            if not _find_project(parts[:-1]):
                return not hidden and _leads_to_docs(parts)
            if hidden or not self._recursive:
                left_out.counts[_HIDDEN if hidden else _BELOW] += 1
            return not hidden and self._recursive

        walk = Walk(Symlinks.from_roots(self._roots))
        for directory, found in walk.walk_directories(top, descend):
            if _find_project(_split_below(directory, top)):
                for file in filter(is_regular, found):
                    if not _is_report(file.name):
                        _count_left_out(file.name, left_out)
                        continue
                    try:
                        entry = self._make_entry(file, root.scope)
                        entries.setdefault(entry.path, entry)
                    except OSError as error:
                        walk.problems.append(Problem(file.path, error.strerror or str(error)))
        return walk.problems

    def _make_entry(self, file: os.DirEntry[str], scope: str) -> Entry:
        real = resolve_path(file.path)
        inside = len(self._roots) == 1 and self._split_path(real)
        key = "/".join(inside) if inside else shorten_path(real)
        return make_entry(real, scope, file.stat(), key=key)

    def _split_path(self, path: str) -> tuple[str, ...]:
        tops = (resolve_path(root.path) for root in self._roots)
        return next((_split_below(path, top) for top in tops if is_within(path, top)), ())


def _explain_file(seen: SeenPath) -> str | None:
    if not _find_project(tuple(seen.relative.split(os.sep))[:-1]):
        return None
    if _is_report(seen.name):
        return ""
    return _CAPITALS if seen.name.lower().endswith(_MARKDOWN) else "not Markdown"


def _count_left_out(name: str, left_out: LeftOut) -> None:
    if name.lower().endswith(_MARKDOWN):
        left_out.counts[_CAPITALS] += 1
    else:
        left_out.count_suffix("not Markdown", name)


def _split_below(path: str, top: str) -> tuple[str, ...]:
    """Return the names from `top` down to `path`; none for a path outside of it."""
    if path == top or not is_within(path, top):
        return ()
    return tuple(os.path.relpath(path, top).split(os.sep))


def _find_project(directory: tuple[str, ...]) -> str:
    """Return the project whose docs a directory lies in, "" for none."""
    for level in _PROJECT_LEVELS:
        if any(directory[level : level + len(docs)] == docs for docs in _DOCS):
            return directory[level - 1]
    return ""


def _leads_to_docs(directory: tuple[str, ...]) -> bool:
    deepest = max(_PROJECT_LEVELS)
    in_misc = directory[-1:] == ("misc",) and len(directory) - 1 in _PROJECT_LEVELS
    return len(directory) <= deepest or in_misc or bool(_find_project(directory))


def _is_report(name: str) -> bool:
    stem, suffix = os.path.splitext(name)
    return suffix.lower() == _MARKDOWN and not stem.isupper()
