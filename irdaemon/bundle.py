"""Bundles: the files that travel with an artifact, listed, and shown where they can be.

Nothing outside of the artifact's own directory is read, whatever a link says; nor is anything but a
regular file. What is not shown says why.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from irdaemon.redaction import Cleaner
from irdaemon.source.tree import at_or_under, read_regular
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


def bundle_of(pointer: str, cleaner: Cleaner) -> Bundle:
    """Return what travels with the artifact a pointer leads to; texts are cleaned."""
    home = os.path.realpath(pointer if os.path.isdir(pointer) else os.path.dirname(pointer))
    paths = list(islice(_paths(home), BUNDLE_COUNTED))
    files = tuple(_files(home, paths[:BUNDLE_FILES], cleaner))
    return Bundle(files, len(paths) - len(files))


def _paths(home: str) -> Iterator[str]:
    for folder in _FOLDERS:
        top = os.path.join(home, folder)
        if os.path.islink(top) and not at_or_under(os.path.realpath(top), home):
            yield top
            continue
        for directory, below, names in os.walk(top):
            below.sort()
            # A walk does not go into linked directories; they are listed for what they are.
            links = [name for name in below if os.path.islink(os.path.join(directory, name))]
            for name in sorted([*names, *links]):
                yield os.path.join(directory, name)


def _files(home: str, paths: list[str], cleaner: Cleaner) -> Iterator[BundledFile]:
    left = BUNDLE_CHARS
    for path in paths:
        file = _file(home, path, left, cleaner)
        left -= len(file.text or "")
        yield file


def _file(home: str, path: str, left: int, cleaner: Cleaner) -> BundledFile:
    name = os.path.relpath(path, home)
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if shown != name:
        return BundledFile(shown, 0, None, NO_UTF8)
    try:
        status = os.stat(path)
    except OSError:
        return BundledFile(shown, 0, None, UNREADABLE)
    if refused := _refused(home, path, status, left):
        inside = refused != LEADS_OUT  # of what lies elsewhere not even the size is told
        return BundledFile(shown, status.st_size if inside else 0, None, refused)
    try:
        content = read_regular(path, left)
        text = None if b"\0" in content else cleaner.text(content.decode("utf-8", "replace"))
    except (OSError, SourceError):
        return BundledFile(shown, status.st_size, None, UNREADABLE)
    return BundledFile(shown, status.st_size, text, NOT_TEXT if text is None else "")


def _refused(home: str, path: str, status: os.stat_result, left: int) -> str:
    if not at_or_under(os.path.realpath(path), home):
        return LEADS_OUT
    if not stat.S_ISREG(status.st_mode):
        return NOT_REGULAR
    return TOO_LARGE if status.st_size > left else ""
