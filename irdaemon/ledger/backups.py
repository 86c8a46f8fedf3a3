"""Backups: a whole ledger in one file, and a ledger from such a file.

Add-ons' files are saved next to it, each as a separate database.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass

from irclient.errors import IRError
from irdaemon.ledger import IN_MEMORY, IntegrityProblem, Ledger, LedgerError
from irdaemon.ledger.files import (
    UNDECODABLE,
    copy_database,
    is_corrupt,
    is_transient,
    move_into_place,
    replace_ledger,
    set_aside,
    strip_text,
)
from irdaemon.ledger.store import open_to_read

_NOTHING, _DONE = "nothing has changed", "the ledger's part is done"


class BackupError(IRError):
    """A backup cannot be written or used."""

    code = "backup"


def back_up(ledger_path: str, file: str, *, replace: bool = False) -> int:
    """Write the current state of a ledger into a private file; return its size in bytes.

    A daemon may write during the copy. Raises BackupError if the file exists and may not be
    replaced, or cannot be written.
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
    """Replace a ledger by a backup, in one step; return the old one's new path.

    No process may have the ledger open. Raises BackupError unless the file is a sound ledger of a
    known format; nothing has changed then.
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

    A ledger that continues from an older moment reuses row numbers, and owners of copies must not
    mistake it for the previous one.
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


def back_up_file(path: str, beside: str) -> int:
    """Save an add-on's file next to a ledger's backup; return its size, 0 if there is none.

    An older one is replaced. Raises BackupError if it cannot be written.
    """
    if not os.path.exists(path):
        return 0
    target = os.path.abspath(beside)
    if os.path.isdir(target):
        raise BackupError(f"{target} is a directory", _DONE)
    try:
        directory = os.path.dirname(target)
        with closing(open_to_read(path)) as source, copy_database(source, directory) as copy:
            move_into_place(copy, target, replace=True)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{path} cannot be copied: {error}", _DONE) from error
    return os.path.getsize(target)


def restore_file(
    beside: str, path: str, check: Callable[[str], AbstractContextManager[object]]
) -> str | None:
    """Replace an add-on's file by the one next to a ledger's backup.

    Returns the old file's new path, None if there was none, or none next to the backup. No process
    may have it open. Raises BackupError if `check` cannot open it.
    """
    kept = os.path.abspath(beside)
    if not os.path.exists(kept):
        return None
    try:
        with check(kept):
            pass
        directory = os.path.dirname(path)
        with closing(open_to_read(kept)) as source, copy_database(source, directory) as copy:
            return replace_ledger(path, copy)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{kept} cannot be used: {error}", _DONE) from error


# Corrupt ledgers: they are recognised, and then repaired or set aside.

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Corruption:
    """A corrupt ledger that was set aside: when (Unix seconds), why, and its path now."""

    since: float
    why: str
    kept: str


def describe_corruption(path: str, error: BaseException) -> str:
    """Return the corruption of a ledger that gave an error; "" if that is not the cause.

    If SQLite does not name the corruption the whole file is checked: seconds for a large ledger.
    """
    if path == IN_MEMORY:
        return ""
    cause = error.__cause__ if isinstance(error, LedgerError) else error
    if cause is None:  # a later format
        return ""
    if is_corrupt(cause) or isinstance(cause, (PermissionError, IsADirectoryError)):
        return strip_text(cause)
    return "" if is_transient(cause) else find_first_problem(path)


def find_first_problem(path: str) -> str:
    """Return the first severe problem of a ledger file; "" if there is none or it is unknown."""
    return next((each.what for each in _find_severe_problems(path)), "")


def _find_severe_problems(path: str) -> list[IntegrityProblem]:
    try:
        with closing(Ledger(path, read_only=True)) as view, view.hold_snapshot():
            return [each for each in view.check() if each.severe]
    except (LedgerError, sqlite3.Error):
        return []


def try_repair(path: str) -> bool:
    """Repair the rows of a ledger whose file is intact; return whether it is sound then.

    This keeps entries whose sources are gone, which a new ledger would not have.
    """
    found = _find_severe_problems(path)
    if not found or any(each.part == "sqlite" for each in found):
        return False
    # The remains of a damaged row may also prevent the repair from finishing.
    with suppress(LedgerError, sqlite3.Error, *UNDECODABLE), closing(Ledger(path)) as ledger:
        unread = ledger.repair()
        log.error("the ledger had problems (%s); it is repaired", found[0].what)
        log.error("%d of its entries are read again", unread)
    return not _find_severe_problems(path)


def set_corrupt_aside(path: str, why: str, now: float) -> Corruption:
    """Move a corrupt ledger aside, so that a new one can take its place."""
    corruption = Corruption(now, why, set_aside(path, "damaged"))
    log.error(
        "the ledger is corrupt (%s); it is now %s, and is rebuilt from its sources",
        corruption.why,
        corruption.kept,
    )
    return corruption
