"""Walk directory trees the way every file source needs it.

Rules: symlinks are followed, each real directory once; special files (FIFOs, sockets, devices) are
never opened; a directory that cannot be listed is a problem, not an end; what was found below a
path is reported with real paths, in a deterministic order.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO

from irdaemon.types import Problem, Root, SourceError

# Directories that hold no artifacts of their own but can hold millions of files.
PRUNED = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache",
    }
)  # fmt: skip


@dataclass(slots=True)
class Walk:
    """One walk's memory: real directories seen, and paths that could not be looked at."""

    seen: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def directories(
        self, top: str, descend: Callable[[os.DirEntry[str]], bool], max_depth: int = 32
    ) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield (real directory, its sorted entries) from `top` down, parents first.

        `descend` decides on each sub-directory. Directories already seen by this walk, through a
        symlink or another root, are not visited again.
        """
        pending = [(os.path.realpath(top), 0)]
        while pending:
            directory, depth = pending.pop()
            if directory in self.seen:
                continue
            self.seen.add(directory)
            entries = self._entries(directory)
            yield directory, entries
            if depth < max_depth:
                below = [e for e in entries if is_directory(e) and descend(e)]
                pending.extend((real_path(e), depth + 1) for e in reversed(below))

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as found:
                return [e for e in sorted(found, key=lambda e: e.name) if self._nameable(e)]
        except OSError as error:
            self.problems.append(Problem(directory, error.strerror or str(error)))
            return []

    def _nameable(self, entry: os.DirEntry[str]) -> bool:
        """Leave out, and say so, a name that is not text: nothing could store or show it."""
        if entry.name.isprintable() or not any("\udc80" <= c <= "\udcff" for c in entry.name):
            return True
        shown = entry.path.encode("utf-8", "backslashreplace").decode()
        self.problems.append(Problem(shown, "the file name is not valid UTF-8"))
        return False


def not_pruned(entry: os.DirEntry[str]) -> bool:
    """Descend everywhere but into version control, dependency and cache directories."""
    return entry.name not in PRUNED


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Say whether an entry is a directory or a symlink to one; a dangling link is neither."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_regular(entry: os.DirEntry[str]) -> bool:
    """Say whether an entry is a regular file or a symlink to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def stamp_of(*stats: os.stat_result) -> str:
    """Fingerprint files without reading them: size, mtime and ctime in ns, and inode of each.

    The ctime tells of a repaired permission, and of an older file put in the place of a newer.
    """
    return ";".join(f"{s.st_size}-{s.st_mtime_ns}-{s.st_ctime_ns}-{s.st_ino}" for s in stats)


def real_path(entry: os.DirEntry[str]) -> str:
    """Return the real path of an entry of a directory that was scanned by its own real path."""
    return os.path.realpath(entry.path) if entry.is_symlink() else entry.path


def home_relative(path: str) -> str:
    """Shorten a path under the home directory to `~/...`: the form ids are shown in."""
    home = _real_home(os.path.expanduser("~"))
    return "~" + path[len(home) :] if home and path.startswith(home + "/") else path


@lru_cache(maxsize=8)
def _real_home(home: str) -> str:
    return os.path.realpath(home).rstrip("/")


def at_or_under(path: str, top: str) -> bool:
    """Say whether `path` is `top` or lies beneath it; everything lies beneath ""."""
    return not top or path == top or path.startswith(top.rstrip("/") + "/")


def same_name(path: str, target: str) -> bool:
    """Say whether a link leads to a file called as it is itself, in any case.

    So installers link; what passes off another file as its own is called otherwise.
    """
    return os.path.basename(path).lower() == os.path.basename(target).lower()


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading.

    Raises FileNotFoundError when it is gone, SourceError when it is not a regular file or
    unreadable. Never blocks on a FIFO.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}", "check the file's permissions") from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    raise SourceError(f"{path}: not a regular file", "remove it from the watched directory")


def read_regular(path: str, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Raises what `open_regular` does, and SourceError when the file is larger than the limit.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise SourceError(
                f"{path}: {size:,} bytes, more than the limit of {limit:,}",
                "split the file, or leave it out of the corpus",
            )
        try:
            return file.read(limit + 1)[:limit]
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}", "check the disk") from error


def missing(root: Root) -> Problem | None:
    """Return the problem with a root that is not a readable directory, else None."""
    try:
        with os.scandir(root.path):
            return None
    except FileNotFoundError:
        return Problem(root.path, "the directory does not exist")
    except OSError as error:
        return Problem(root.path, error.strerror or str(error))
