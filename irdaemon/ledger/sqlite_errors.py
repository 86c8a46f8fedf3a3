"""Telling a damaged file from a full disk: what SQLite and the system call each."""

from __future__ import annotations

import errno
import sqlite3

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# The disk's or the moment's fault: what is in the file is none the worse.
_PASSING = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
}
_PASSING_ERRNO = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EMFILE,
    errno.ENFILE,
}


def is_damage(error: BaseException) -> bool:
    """Say whether SQLite calls the file damaged, or finds it shorter than it says it is."""
    return _code(error) in _DAMAGED or _is_cut_off(error)


def is_passing(error: BaseException) -> bool:
    """Say whether what failed may work later: a full disk, an I/O error."""
    if isinstance(error, OSError):
        return error.errno in _PASSING_ERRNO
    return _code(error) in _PASSING and not _is_cut_off(error)


def _is_cut_off(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _code(error: BaseException) -> int:
    # The low byte is the kind of error, what is above it the detail.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
