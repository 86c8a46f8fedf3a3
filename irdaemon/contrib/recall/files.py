"""Look at a file that a session touched: whether it exists, and with which content.

A path in a transcript may name anything. So only paths below the roots of known projects are
examined, none on a network, FUSE or autofs mount, and none that leads through a link; only regular
files are read, and none whose name suggests secrets.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from irdaemon.contrib.recall.history import hash_blob
from irdaemon.source.locate_project import Mounts, find_remote, read_mounts
from irdaemon.source.opening import is_within, read_regular, read_status
from irdaemon.types import SourceError

# The most bytes read for a digest: in the background, and while a client waits.
MOST_BYTES, MOST_BYTES_NOW = 2_000_000, 256 * 1024
_KEPT = 4_096
_MOST_QUEUED = 256
_ABSENT = os.strerror(errno.ENOENT)
_SECRET = re.compile(
    r"\.env(\..*)?|.*\.(pem|key|p12|pfx|kdbx|keystore|jks)|id_(rsa|dsa|ecdsa|ed25519)|\.netrc"
    r"|\.npmrc|\.pypirc|\.git-credentials|credentials(\.json)?|secrets?\.(ya?ml|json|toml)",
    re.IGNORECASE,
)

# `unknown`: the file must not or could not be examined.
Presence = Literal["there", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class FileNow:
    """The state of a file now: `content` if it was read for its `blob`, b"" if that was known."""

    presence: Presence
    size: int = -1
    mtime: int = 0
    blob: str = ""
    content: bytes = b""


UNKNOWN = FileNow("unknown")


class Looker:
    """Look at files of projects, within limits; remember what was read by size and time."""

    def __init__(self, roots: Callable[[], Iterable[str]]):
        self._roots = roots
        self._known: OrderedDict[tuple[str, int, int], str] = OrderedDict()
        self._queued: set[str] = set()

    def look(self) -> Look:
        """Return a view of some files at one moment, with the present mounts and projects."""
        return Look(tuple(self._roots()), read_mounts() or (), self)

    def find_blob(self, path: str, size: int, mtime: int) -> str:
        """Return the hash of a file's content if this content was read, else ""."""
        return self._known.get((path, size, mtime), "")

    def queue_read(self, path: str) -> None:
        """Have the next `read_queued` read a file, unless too many are waiting."""
        if len(self._queued) < _MOST_QUEUED:
            self._queued.add(path)

    def read_queued(self) -> None:
        """Read the waiting files, and remember the hashes of their content."""
        if not self._queued:
            return
        queued, self._queued = self._queued, set()
        look = self.look()
        for path in sorted(queued):
            read_file(look, path)

    def remember(self, path: str, now: FileNow) -> None:
        """Remember the hash of a content."""
        self._known[path, now.size, now.mtime] = now.blob
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Look:
    """A view of some files at one moment."""

    roots: tuple[str, ...]
    mounts: Mounts
    looker: Looker

    def find_root(self, path: str) -> str:
        """Return the innermost project root above a path, "" if the path must not be examined."""
        around = [root for root in self.roots if path != root and is_within(path, root)]
        return max(around, key=len, default="") if os.path.normpath(path) == path else ""

    def check_presence(self, path: str) -> FileNow:
        """Return whether a file exists, its size and time, without reading it."""
        if not self.find_root(path) or find_remote(path, self.mounts):
            return UNKNOWN
        try:
            status = read_status(path)
        except FileNotFoundError as error:
            # Links are not followed.
            return FileNow("gone") if error.strerror == _ABSENT else UNKNOWN
        except (SourceError, OSError):
            return UNKNOWN
        if not stat.S_ISREG(status.st_mode):
            return FileNow("gone")
        return FileNow("there", status.st_size, status.st_mtime_ns)

    def read(self, path: str, seen: FileNow, most: int = MOST_BYTES_NOW) -> FileNow:
        """Return an existing file with its content and hash, without them if it must not be read.

        Files larger than `most` bytes are not read.
        """
        if seen.size > most or _SECRET.fullmatch(os.path.basename(path)):
            return seen
        try:
            content = read_regular(path, most)
        except (FileNotFoundError, SourceError, OSError):
            return seen
        # If it was written meanwhile, its time does not belong to what was read.
        if self.check_presence(path) != seen:
            return seen
        now = FileNow("there", seen.size, seen.mtime, hash_blob(content), content)
        self.looker.remember(path, now)
        return now


def read_file(look: Look, path: str) -> FileNow:
    """Return a file as it is, with its content if it may be read."""
    seen = look.check_presence(path)
    return look.read(path, seen, MOST_BYTES) if seen.presence == "there" else seen
