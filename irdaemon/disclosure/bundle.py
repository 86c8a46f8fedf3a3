"""Bundles: the files that travel with an artifact, listed, and shown where they can be.

Nothing outside of the artifact's own directory is read, and nothing but regular
files. Directories are listed and files opened by their real paths with no link allowed on the way,
so that nothing can be put in their place after the check. What is not shown has a note why.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from irdaemon.disclosure.payload import Bounds
from irdaemon.source.opening import at_or_under, open_directory, read_regular, resolved
from irdaemon.source.redact import Redactor
from irdaemon.types import BundledFile, SourceError

BUNDLE_CHARS = 40_000
BUNDLE_FILES = 100
# Beyond this a directory is not even counted on.
BUNDLE_COUNTED = 10_000
_FOLDERS = ("scripts", "references", "assets")
LEADS_OUT = "a link that leads out of the directory"
NOT_REGULAR = "not a regular file"
TOO_LARGE = "too large to show here"
NOT_TEXT = "not text"
UNREADABLE = "unreadable"
NO_UTF8 = "its name is not UTF-8"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The first files of a bundle, and how many more there are."""

    files: tuple[BundledFile, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class _Named:
    """A file by its path below the artifact's directory, and where that lies."""

    shown: str
    path: str


def bundle_of(pointer: str, bounds: Bounds, cleaner: Redactor) -> Bundle:
    """Return what travels with the artifact a pointer leads to; texts are cleaned.

    Where the artifact's directory has become a link out of the roots, nothing does.
    """
    home = pointer if os.path.isdir(pointer) else os.path.dirname(pointer)
    real = resolved(home)
    if real != home and not bounds.root_of(real):
        return Bundle((), 0)
    named = list(islice(_named(real), BUNDLE_COUNTED))
    files = tuple(_files(real, named[:BUNDLE_FILES], cleaner))
    return Bundle(files, len(named) - len(files))


def _named(home: str) -> Iterator[_Named]:
    for folder in _FOLDERS:
        top = resolved(os.path.join(home, folder))
        if not at_or_under(top, home):
            yield _Named(folder, os.path.join(home, folder))
            continue
        try:
            with open_directory(top) as descriptor:
                yield from _below(folder, top, descriptor)
        except (OSError, SourceError):
            continue


def _below(folder: str, top: str, descriptor: int) -> Iterator[_Named]:
    """Yield the files below an open directory; links to directories are listed as what they are."""
    for directory, below, names, at in os.fwalk(".", dir_fd=descriptor):
        below.sort()
        links = [name for name in below if _is_link(name, at)]
        for name in sorted([*names, *links]):
            inside = os.path.normpath(os.path.join(directory, name))
            yield _Named(os.path.join(folder, inside), os.path.join(top, inside))


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode)
    except OSError:
        return False


def _files(home: str, named: list[_Named], cleaner: Redactor) -> Iterator[BundledFile]:
    left = BUNDLE_CHARS
    for each in named:
        file = _file(home, each, left, cleaner)
        left -= len(file.text or "")
        yield file


def _file(home: str, named: _Named, left: int, cleaner: Redactor) -> BundledFile:
    shown = named.shown.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if shown != named.shown:
        return BundledFile(shown, 0, None, NO_UTF8)
    real = resolved(named.path)
    if not at_or_under(real, home):  # not even the size of what lies elsewhere is given
        exists = os.path.lexists(real)
        return BundledFile(shown, 0, None, LEADS_OUT if exists else UNREADABLE)
    try:
        status = os.lstat(real)
    except OSError:
        return BundledFile(shown, 0, None, UNREADABLE)
    if refused := _refused(status, left):
        return BundledFile(shown, status.st_size, None, refused)
    try:
        content = read_regular(real, left)
        text = None if b"\0" in content else cleaner.text(content.decode("utf-8", "replace"))
    except (OSError, SourceError):
        return BundledFile(shown, status.st_size, None, UNREADABLE)
    return BundledFile(shown, status.st_size, text, NOT_TEXT if text is None else "")


def _refused(status: os.stat_result, left: int) -> str:
    if not stat.S_ISREG(status.st_mode):
        return NOT_REGULAR
    return TOO_LARGE if status.st_size > left else ""
