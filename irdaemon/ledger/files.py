"""The ledger as a file: copied whole, set aside, replaced in one step.

A write-ahead log belongs to the file it was written beside. Left behind for another one it would
be played into that, so it never stays where its file goes.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from datetime import UTC, datetime
from glob import escape, glob

# Corrupt ledgers are kept for inspection; a disk that corrupts many must not fill up.
_KEPT = 3


def set_aside(path: str, why: str) -> str:
    """Rename a ledger to PATH.WHY-TIME, its log with it, and return that; the oldest go."""
    aside = _aside(path, why)
    os.rename(path, aside)
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{path}-wal", f"{aside}-wal")
    drop_log(path)
    _drop_oldest(path, why)
    return aside


def replaced(path: str, copy: str) -> str | None:
    """Put a copy in a closed ledger's place; return where that one lies now, None for no ledger.

    The path leads to the one or to the other at every moment, save where the old one's log cannot
    be folded into it: such a ledger is corrupt.
    """
    if not os.path.lexists(path):
        drop_log(path)
        old = None
    elif _folded(path):
        old = _aside(path, "replaced")
        os.link(path, old)
    else:
        old = set_aside(path, "replaced")
    moved_into_place(copy, path, replace=True)
    _drop_oldest(path, "replaced")
    return old


def _folded(path: str) -> bool:
    """Fold a ledger's log into it, and return whether none is left."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as ledger,
    ):
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not os.path.exists(f"{path}-wal")


def _aside(path: str, why: str) -> str:
    return f"{path}.{why}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"


def _drop_oldest(path: str, why: str) -> None:
    for old in kept_aside(path, why)[:-_KEPT]:
        for name in (old, f"{old}-wal"):
            with contextlib.suppress(OSError):
                os.unlink(name)


def kept_aside(path: str, why: str = "*") -> list[str]:
    """Return what was set aside of a ledger, oldest first."""
    found = glob(f"{escape(path)}.{why}-*Z")
    return sorted(found, key=lambda name: name.rpartition("-")[2])


def copied(source: sqlite3.Connection, directory: str) -> str:
    """Copy a database into a new private file of a directory, on the disk, and return its path.

    The copy is of one moment, whatever is written meanwhile, and needs no log beside it.
    """
    descriptor, path = tempfile.mkstemp(dir=directory, prefix=".ledger-")
    os.close(descriptor)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = FULL")
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
    except BaseException:
        os.unlink(path)
        raise
    return path


def moved_into_place(temporary: str, path: str, *, replace: bool) -> None:
    """Give a finished file its name in one step. Raises FileExistsError unless it may replace."""
    try:
        if os.path.lexists(path) and not replace:
            raise FileExistsError(path)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_directory(os.path.dirname(os.path.abspath(path)))


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_log(path: str) -> None:
    """Remove what a closed database left beside its file."""
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
