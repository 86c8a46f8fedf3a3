"""The ledger as a file: copied whole, set aside, replaced in one step.

A write-ahead log belongs to its database. SQLite would replay a leftover log into another database
of the same name, so a log always moves with its file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from glob import escape, glob

# Corrupt ledgers are kept for inspection; a disk that corrupts many must not fill up.
_KEPT = 3
_COPY_PREFIX = ".ledger-"
# The names that `mkstemp` makes of that, and those of SQLite's files beside it.
_COPY = re.compile(rf"({re.escape(_COPY_PREFIX)}[a-z0-9_]{{8}})(-journal|-wal|-shm)?$")


def set_aside(path: str, why: str) -> str:
    """Rename a ledger and its log to PATH.WHY-TIME and return that; the oldest are deleted."""
    aside = _name_aside(path, why)
    os.rename(path, aside)
    with contextlib.suppress(FileNotFoundError):
        os.rename(f"{path}-wal", f"{aside}-wal")
    drop_log(path)
    _drop_oldest(path, why)
    return aside


def replace_ledger(path: str, copy: str) -> str | None:
    """Put a copy in a closed ledger's place; return the old one's new path, None for no ledger.

    At every moment the path leads to one of the two, unless the log of the old one cannot be folded
    into it: such a ledger is corrupt.
    """
    if not os.path.lexists(path):
        drop_log(path)
        old = None
    elif _fold_log(path):
        old = _name_aside(path, "replaced")
        os.link(path, old)
    else:
        old = set_aside(path, "replaced")
    move_into_place(copy, path, replace=True)
    _drop_oldest(path, "replaced")
    return old


def _fold_log(path: str) -> bool:
    """Fold a ledger's log into it, and return whether that succeeded."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as ledger,
    ):
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not os.path.exists(f"{path}-wal")


def _name_aside(path: str, why: str) -> str:
    return f"{path}.{why}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"


def _drop_oldest(path: str, why: str) -> None:
    for old in list_set_aside(path, why)[:-_KEPT]:
        for name in (old, f"{old}-wal"):
            with contextlib.suppress(OSError):
                os.unlink(name)


def list_set_aside(path: str, why: str = "*") -> list[str]:
    """Return the files set aside for a ledger, oldest first."""
    found = glob(f"{escape(path)}.{why}-*Z")
    return sorted(found, key=lambda name: name.rpartition("-")[2])


@contextlib.contextmanager
def copy_database(source: sqlite3.Connection, directory: str) -> Iterator[str]:
    """Copy a database into a new private file in a directory, synced to disk; yield its path.

    The copy is consistent while others write, and needs no log. Unless moved it is removed at the
    end of the block; `drop_dead_copies` removes those of killed processes.
    """
    drop_dead_copies(directory)
    descriptor, path = _make_locked_file(directory)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as target:
            target.execute("PRAGMA synchronous = FULL")
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        yield path
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.close(descriptor)


def _make_locked_file(directory: str) -> tuple[int, str]:
    """Make a file that this process keeps locked, as `drop_dead_copies` checks."""
    while True:
        descriptor, path = tempfile.mkstemp(dir=directory, prefix=_COPY_PREFIX)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)  # removed as a dead copy before it was locked


def drop_dead_copies(directory: str) -> None:
    """Remove unfinished database copies that killed processes left in a directory."""
    with contextlib.suppress(OSError):
        for name in {found[1] for each in os.listdir(directory) if (found := _COPY.match(each))}:
            with contextlib.suppress(OSError):
                _drop_if_dead(os.path.join(directory, name))


def _drop_if_dead(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        drop_log(path)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        drop_log(path)
        os.unlink(path)
    finally:
        os.close(descriptor)


def move_into_place(temporary: str, path: str, *, replace: bool) -> None:
    """Rename a finished file in one step. Raises FileExistsError unless it may replace."""
    if os.path.lexists(path) and not replace:
        raise FileExistsError(path)
    os.replace(temporary, path)
    _sync_directory(os.path.dirname(os.path.abspath(path)))


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_log(path: str) -> None:
    """Remove the files that a closed database left beside it."""
    for end in ("-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)


def open_private(path: str, tables: str, *, create: bool = True) -> sqlite3.Connection:
    """Open an add-on's database for its owner alone; create it with its tables if it is missing.

    Only one thread may `create`. Raises sqlite3.Error or OSError.
    """
    if create and not (os.path.exists(path) and os.path.getsize(path)):
        _create_private(path, tables)
    # By name: closing a descriptor of the file would drop the locks of other connections to it.
    os.chmod(path, 0o600)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise
    return db


def _create_private(path: str, tables: str) -> None:
    """Create a database beside its place and move it there, so that none is opened half-made.

    It has no log yet that a move could leave behind: the first to open it turns that on.
    """
    unfinished = f"{path}.new"
    drop_log(path)
    drop_log(unfinished)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(unfinished)
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with contextlib.closing(sqlite3.connect(unfinished, isolation_level=None)) as db:
        db.executescript(tables)
    os.replace(unfinished, path)


# Distinguish a corrupt file from a full disk by the error codes of SQLite and the system.
#
# SQLite keeps no checksums: a damaged row shows as a Python error where it is decoded. Only a check
# of the ledger can say whether damage was the cause.

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# The disk or bad timing is the cause: the content of the file is intact.
_TRANSIENT = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
}
_TRANSIENT_ERRNO = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
}


# What decoding a damaged row may raise: invalid text, packed values of another shape.
UNDECODABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
# How Python's sqlite3 begins its message for invalid UTF-8; there is no error code for it.
_NO_TEXT = "Could not decode to UTF-8"


def is_corrupt(error: BaseException) -> bool:
    """Return whether SQLite calls the file corrupt, or finds it shorter than its header says.

    Text that is not UTF-8 also proves corruption.
    """
    no_text = isinstance(error, sqlite3.Error) and str(error).startswith(_NO_TEXT)
    return no_text or _get_code(error) in _CORRUPT or _is_truncated(error)


def strip_text(error: BaseException) -> str:
    """Return an error's message without the row content it may quote."""
    if isinstance(error, UNDECODABLE):
        return f"a row does not decode ({type(error).__name__})"
    return str(error).partition(" with text ")[0]


def is_transient(error: BaseException) -> bool:
    """Return whether a failed operation may work later: a full disk, an I/O error."""
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRNO
    return _get_code(error) in _TRANSIENT and not _is_truncated(error)


def _is_truncated(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _get_code(error: BaseException) -> int:
    # The low byte is the kind of error, the higher ones the detail.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
