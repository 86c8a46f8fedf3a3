"""Backups of the log of use: a file beside the backup of the ledger, and back.

The key of its digests is not among them. On another machine what is noted stays joined as it was;
prompts that are read anew there join nothing of before.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from irdaemon.ledger.backups import BackupError
from irdaemon.ledger.files import copied, moved_into_place, replaced
from irdaemon.ledger.store import opened_to_read
from irdaemon.usage.store import read_usage

_NOTHING = "the ledger's part is done"


def saved_beside(file: str) -> str:
    """Return the path of the log of use that belongs to a ledger's backup."""
    return f"{file}.usage"


def save_usage(usage_path: str, file: str, *, replace: bool = False) -> int:
    """Write the log of use beside a ledger's backup; return its size, 0 where there is none.

    Raises BackupError for one that exists, unless it may be replaced, and where it cannot be
    written.
    """
    if not os.path.exists(usage_path):
        return 0
    target = os.path.abspath(saved_beside(file))
    if os.path.isdir(target) or (os.path.lexists(target) and not replace):
        raise BackupError(f"{target} exists already", "--force replaces a file, not a directory")
    try:
        beside = os.path.dirname(target)
        with closing(opened_to_read(usage_path)) as source, copied(source, beside) as copy:
            moved_into_place(copy, target, replace=replace)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{usage_path} cannot be copied: {error}", _NOTHING) from error
    return os.path.getsize(target)


def restore_usage(file: str, usage_path: str) -> str | None:
    """Put the log of use that lies beside a ledger's backup in its place.

    Returns where the one before lies now, None where there was none, or none beside the backup. No
    process may have it open. Raises BackupError for a file that is none.
    """
    kept = os.path.abspath(saved_beside(file))
    if not os.path.exists(kept):
        return None
    try:
        with read_usage(kept):
            pass
        beside = os.path.dirname(usage_path)
        with closing(opened_to_read(kept)) as source, copied(source, beside) as copy:
            return replaced(usage_path, copy)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{kept} is no log of use: {error}", _NOTHING) from error
