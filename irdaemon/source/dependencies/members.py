"""Find the directories that a workspace's patterns name, without leaving the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from irdaemon.source.dependencies.found import MOST_MEMBERS, ProjectFiles, list_directories

_MOST_LISTED = 5_000
_MOST_PATTERNS = 1_000
_WILD = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 64
_PARTS_A_LISTING = 10


def find_members(
    files: ProjectFiles, top: str, patterns: Iterable[object], manifest: str
) -> list[str]:
    """Return the real paths of a workspace's members below or beside `top`, sorted.

    Those that a pattern with a leading `!` names are left out. Links are not followed, unless a
    pattern without wildcards leads through one to another place in the project.
    """
    written = [each for each in patterns if isinstance(each, str)][:_MOST_PATTERNS]
    search = _Search(files)
    found: dict[str, None] = {}
    for pattern in written:
        named = search.expand(top, pattern.removeprefix("!"))
        if pattern.startswith("!"):
            for directory in named:
                found.pop(directory, None)
            continue
        with_manifest = (each for each in named if files.has_file(each, manifest))
        found.update(dict.fromkeys(with_manifest))
    found.pop(top, None)
    if len(found) > MOST_MEMBERS or search.left < 0:
        limit = f"{MOST_MEMBERS:,} members in {_MOST_LISTED:,} directories"
        files.complain(
            os.path.join(top, manifest), f"its workspace has more than {limit}; others are left out"
        )
    return sorted(found)[:MOST_MEMBERS]


@dataclass(slots=True)
class _Search:
    """One search: how many directories may still be listed, or looked for."""

    files: ProjectFiles
    left: int = _MOST_LISTED

    def expand(self, top: str, pattern: str) -> list[str]:
        """Return the directories that a pattern names."""
        found: list[str] = []
        for plain in _list_alternatives(pattern):
            if not _WILD.search(plain):
                # A long path is looked at one directory after the other.
                self.left -= 1 + plain.count("/") // _PARTS_A_LISTING
                if self.left < 0:
                    break
                real = self.files.resolve_named(top, plain)
                found += [real] if real else []
                continue
            parts = [part for part in plain.split("/") if part not in ("", ".")]
            if ".." not in parts and not plain.startswith("/"):
                found += self._match(top, parts)
        return found

    def _match(self, top: str, parts: list[str]) -> list[str]:
        reached = [top]
        for part in parts:
            if part == "**":
                reached = [below for each in reached for below in self._list_all(each)]
            else:
                reached = [b for each in reached for b in self._list(each) if _is_called(b, part)]
        return list(dict.fromkeys(reached))

    def _list(self, directory: str) -> list[str]:
        self.left -= 1
        if self.left < 0:
            return []
        names = sorted(entry.name for entry in list_directories(directory))
        return [os.path.join(directory, name) for name in names]

    def _list_all(self, directory: str) -> Iterator[str]:
        pending = [directory]
        while pending:
            yield (reached := pending.pop())
            pending += self._list(reached)


def _is_called(path: str, pattern: str) -> bool:
    return fnmatchcase(os.path.basename(path), pattern)


def _list_alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with `{a,b}` in it stands for."""
    written, done = [pattern], list[str]()
    while written and len(written) + len(done) <= _MOST_ALTERNATIVES:
        each = written.pop()
        if braces := _BRACES.search(each):
            before, after = each[: braces.start()], each[braces.end() :]
            written += [before + choice + after for choice in reversed(braces[1].split(","))]
        else:
            done.append(each)
    return done
