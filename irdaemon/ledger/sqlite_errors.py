"""Tell a corrupt file from a full disk, by the codes of SQLite and of the system.

SQLite keeps no checksum: what damage makes of a row is met by whatever decodes it, as an error of
Python's. Whether damage was its cause only a check of the ledger can say.
"""

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


# What decoding a damaged row may raise: invalid text, packed values of another shape.
UNDECODABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
# How Python's sqlite3 begins its message for invalid UTF-8; there is no error code for it.
_NO_TEXT = "Could not decode to UTF-8"


def is_corrupt(error: BaseException) -> bool:
    """Return whether SQLite calls the file corrupt, or finds it shorter than its header says.

    Text that is not UTF-8 is as sure a sign.
    """
    no_text = isinstance(error, sqlite3.Error) and str(error).startswith(_NO_TEXT)
    return no_text or _get_code(error) in _CORRUPT or _is_truncated(error)


def strip_text(error: BaseException) -> str:
    """Return an error's message without the row content it may quote."""
    if isinstance(error, UNDECODABLE):
        return f"a row does not decode ({type(error).__name__})"
    return str(error).partition(" with text ")[0]


def is_transient(error: BaseException) -> bool:
    """Return whether what failed may work later: a full disk, an I/O error."""
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRNO
    return _get_code(error) in _TRANSIENT and not _is_truncated(error)


def _is_truncated(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _get_code(error: BaseException) -> int:
    # The low byte is the kind of error, the higher ones the detail.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
