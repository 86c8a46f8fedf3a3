"""Backups: a whole ledger in one file, and a ledger from such a file."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from irclient.errors import IRError
from irdaemon.ledger import Ledger, LedgerError
from irdaemon.ledger.files import copy_database, move_into_place, replace_ledger
from irdaemon.ledger.store import open_to_read

_NOTHING = "nothing has changed"


class BackupError(IRError):
    """A backup cannot be written or used."""

    code = "backup"


def back_up(ledger_path: str, file: str, *, replace: bool = False) -> int:
    """Write a ledger as it is at this moment into a private file; return its size in bytes.

    A daemon may write during the copy. Raises BackupError for a file that exists, unless it may
    be replaced, and for one that cannot be written.
    """
    target = os.path.abspath(file)
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise BackupError(f"{directory} is not a directory", "make it first")
    if os.path.isdir(target) or (os.path.lexists(target) and not replace):
        raise BackupError(f"{file} exists already", "--force replaces a file, not a directory")
    try:
        with closing(open_to_read(ledger_path)) as source, copy_database(source, directory) as copy:
            move_into_place(copy, target, replace=replace)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{ledger_path} cannot be copied to {file}: {error}", _NOTHING) from error
    return os.path.getsize(target)


def restore(file: str, ledger_path: str) -> str | None:
    """Put a backup in a ledger's place, in one step; return where the old one lies now.

    No process may have the ledger open. Raises BackupError for a file that is no sound ledger of a
    format that this version knows; nothing has changed then.
    """
    check_backup(file)
    directory = os.path.dirname(ledger_path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    try:
        with closing(open_to_read(file)) as source, copy_database(source, directory) as copy:
            _as_another(copy)
            return replace_ledger(ledger_path, copy)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{file}: {error}", _NOTHING) from error


def _as_another(path: str) -> None:
    """Drop a ledger's identity, so that it gets a new one.

    What goes on from an older moment numbers other rows alike, and must not be taken for what it
    was by those that have copies of it.
    """
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM counters WHERE name = 'identity'")


def check_backup(file: str) -> None:
    """Raise BackupError unless a file holds a sound ledger of a known format."""
    if not os.path.isfile(file):
        raise BackupError(f"{file}: no such file", "irdaemon backup FILE writes one")
    try:
        with closing(Ledger(os.path.abspath(file), read_only=True)) as view:
            what = next((each.what for each in view.check() if each.severe), "")
    except LedgerError as error:
        raise BackupError(error.message, error.hint) from error
    if what:
        raise BackupError(f"{file} is not a sound ledger: {what}", _NOTHING)
