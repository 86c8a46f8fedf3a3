"""The payload: what a pointer leads to at this moment, or why it is refused.

A pointer was a real path when its artifact was indexed. Where it is a link by now, it is followed
only back into the corpus' roots, or beside or below it; where installers link single files (a
SKILL.md, a README), also to a file of the same name. What was checked is opened by its real path
with no link allowed on the way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from irdaemon.config.corpus import Corpus
from irdaemon.source.opening import at_or_under, followed, open_regular
from irdaemon.types import SourceError

_READ_BYTES = 16 * 1024 * 1024
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")  # in any case


@dataclass(frozen=True, slots=True)
class Bounds:
    """Within which real directories a corpus' payloads lie, and how their secrets are redacted.

    `by_name` is whether a link may lead out of them, to a file of its own name.
    """

    roots: tuple[str, ...] = ()
    redaction: str = "tokens"
    by_name: bool = False

    @classmethod
    def of(cls, corpus: Corpus) -> Bounds:
        """Return the bounds of a corpus."""
        roots = tuple(dict.fromkeys(corpus.real_roots().values()))
        return cls(roots, corpus.redaction, corpus.has_linked_files)

    def root_of(self, path: str) -> str:
        """Return the innermost root a path lies at or under, "" for none."""
        around = [root for root in self.roots if path and at_or_under(os.path.normpath(path), root)]
        return max(around, key=len, default="")


# Of an artifact whose corpus is not known: no root to lie in.
ANYWHERE = Bounds()


@dataclass(frozen=True, slots=True)
class PointerContent:
    """The bytes a pointer leads to, and when they were last changed (Unix seconds)."""

    content: bytes
    mtime: float


def read_payload(pointer: str, bounds: Bounds) -> PointerContent:
    """Read what a pointer leads to: a file, or the README of a directory.

    Raises FileNotFoundError where there is nothing, SourceError where it is refused.
    """
    if os.pardir in pointer.split(os.sep):
        raise SourceError(f"{pointer}: a pointer that leads upwards")
    path = _readme(pointer) if os.path.isdir(pointer) else pointer
    with open_regular(followed(path, bounds.roots, by_name=bounds.by_name)) as file:
        status = os.fstat(file.fileno())
        if status.st_size > _READ_BYTES:
            raise SourceError(f"{path}: {status.st_size:,} bytes, the limit is {_READ_BYTES:,}")
        return PointerContent(file.read(_READ_BYTES), status.st_mtime)


def _readme(directory: str) -> str:
    found = sorted(filter(_is_readme, os.listdir(directory)), key=_preference)
    paths = (os.path.join(directory, name) for name in found)
    path = next(filter(os.path.isfile, paths), None)
    if path is None:
        raise FileNotFoundError(2, "no README", directory)
    return path


def _is_readme(name: str) -> bool:
    return name.lower() in _READMES


def _preference(name: str) -> tuple[int, str]:
    return _READMES.index(name.lower()), name
