"""Tell a corrupt file from a full disk, by the codes of SQLite and of the system."""

from __future__ import annotations

import errno
import sqlite3

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
# The disk or the moment is the cause: the content of the file is whole.
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


def is_corrupt(error: BaseException) -> bool:
    """Return whether SQLite calls the file corrupt, or finds it shorter than its header has it."""
    return _code(error) in _CORRUPT or _is_truncated(error)


def is_transient(error: BaseException) -> bool:
    """Return whether what failed may work later: a full disk, an I/O error."""
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRNO
    return _code(error) in _TRANSIENT and not _is_truncated(error)


def _is_truncated(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _code(error: BaseException) -> int:
    # The low byte is the kind of error, what is above it the detail.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
