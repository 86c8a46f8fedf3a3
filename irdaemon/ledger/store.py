"""The SQLite file beneath the ledger: opened privately, written in transactions."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any

from irdaemon.ledger.files import (
    copy_database,
    drop_dead_copies,
    drop_log,
    move_into_place,
    set_aside,
)
from irdaemon.ledger.schema import LedgerError, hold_transaction, migrate

IN_MEMORY = ":memory:"
Values = Sequence[Any]
# SQLite reports a full disk as an I/O error where it needs a temporary file.
_LITTLE_ROOM = 512 * 1024
_BUSY_MS = 5_000
READ_ONLY = "its file system is read-only: make it writable; the kernel's log (dmesg) may say why"
_ROWS_AT_ONCE = 2_000
_KEYS_AT_ONCE = 500
# Instructions of SQLite's virtual machine between two checks for `stop`: about a millisecond.
_STEPS_BETWEEN = 10_000
_FORGOTTEN, _REPLACED = "forgotten", "replaced"  # names of counters


class Store:
    """One connection to one ledger file."""

    def __init__(self, path: str, *, read_only: bool = False):
        self.path = path
        self.lost_transactions = 0
        self._folded_size = 0
        try:
            self._db = _connect(path, read_only)
            if not read_only:
                self._drop_dead_copies()
                _migrate(self._db)
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(f"{path}: {error}", suggest_cure(path)) from error
        self._file = _identify_file(path)

    @property
    def format(self) -> int:
        """Return the number of the file's format."""
        return self.read_number("PRAGMA user_version")

    def was_moved(self) -> bool:
        """Return whether the path no longer leads to the file that is open."""
        return self._file != _identify_file(self.path)

    def put_back(self) -> None:
        """Restore a moved or deleted file from the open connection, and continue with it.

        A file now in its place is set aside.
        """
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), mode=0o700, exist_ok=True)
        with copy_database(self._db, os.path.dirname(os.path.abspath(self.path))) as copy:
            self._db.close()
            drop_log(self.path)
            if os.path.exists(self.path):
                set_aside(self.path, "displaced")
            move_into_place(copy, self.path, replace=True)
        # Only now: closing a file drops all locks that this process has on it.
        self._db = _connect(self.path, read_only=False)
        self._file = _identify_file(self.path)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def fetch_all(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return self._db.execute(statement, values).fetchall()

    def fetch_column(self, statement: str, values: Values = ()) -> list[Any]:
        """Run a query and return the first column of its rows."""
        return [row[0] for row in self._db.execute(statement, values)]

    def iterate_rows(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they are read."""
        return iter(self._db.execute(statement, values))

    def iterate_parts(self, statement: str) -> Iterator[list[tuple[Any, ...]]]:
        """Run a query and yield its rows, some thousands at a time."""
        cursor = self._db.execute(statement)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield rows

    def fetch_one(self, statement: str, values: Values = ()) -> tuple[Any, ...] | None:
        """Run a query and return its first row, or None."""
        row: tuple[Any, ...] | None = self._db.execute(statement, values).fetchone()
        return row

    def read_number(self, statement: str, values: Values = (), default: int = 0) -> int:
        """Run a query and return the first number of its first row."""
        row = self.fetch_one(statement, values)
        return int(row[0]) if row else default

    def select_in(
        self, statement: str, keys: Sequence[Any], *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Run a query that ends in `IN` for any number of keys, after its other values."""
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            part = keys[start : start + _KEYS_AT_ONCE]
            yield from self.fetch_all(
                f"{statement} ({', '.join('?' * len(part))})", (*values, *part)
            )

    def run(self, statement: str, values: Values = ()) -> sqlite3.Cursor:
        """Run a statement inside the caller's transaction."""
        return self._db.execute(statement, values)

    def write(self, statement: str, values: Values = ()) -> int:
        """Run a statement in a transaction; count rows changed."""
        with self.transaction():
            return self.run(statement, values).rowcount

    def write_many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
        """Run a statement once per row in a transaction, if there are rows; count rows changed."""
        if not rows:
            return 0
        with self.transaction():
            return self.run_many(statement, rows)

    def run_many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement once per row inside the caller's transaction; count rows changed."""
        if isinstance(rows, Sized) and not rows:
            return 0
        return self._db.executemany(statement, rows).rowcount

    def release_memory(self) -> None:
        """Free the page cache of this connection."""
        self._db.execute("PRAGMA shrink_memory")

    def vacuum(self, stop: Callable[[], bool] | None) -> None:
        """Rewrite the file, unless `stop`, called now and then, returns true.

        Unfinished copies may hold forgotten text as well, and are deleted first.
        """
        self._drop_dead_copies()
        self._db.set_progress_handler(stop, _STEPS_BETWEEN)
        try:
            self._db.execute("VACUUM")
        finally:
            self._db.set_progress_handler(None, 0)

    def _drop_dead_copies(self) -> None:
        if self.path != IN_MEMORY:
            drop_dead_copies(os.path.dirname(os.path.abspath(self.path)))

    def has_log_grown(self) -> bool:
        """Return whether the write-ahead log has grown since `fold_log`."""
        return self.path != IN_MEMORY and self._measure_log() != self._folded_size

    def fold_log(self) -> bool:
        """Empty the write-ahead log without waiting for readers; return whether that worked."""
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            ((busy, _, _),) = self.fetch_all("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        if not busy:
            # The first write to an empty log syncs to disk: better now than at a change.
            with self.transaction():
                self.run("UPDATE counters SET value = value WHERE name = 'generation'")
            self._folded_size = self._measure_log()
        return not busy

    def _measure_log(self) -> int:
        try:
            return os.stat(f"{self.path}-wal").st_size
        except OSError:
            return 0

    @contextmanager
    def hold_snapshot(self) -> Iterator[None]:
        """Read one consistent snapshot inside the block, while others may write."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside the block in one transaction: all of it or nothing.

        A nested transaction is part of the outer one.
        """
        if self._db.in_transaction:
            yield
            return
        try:
            with hold_transaction(self._db):
                yield
        except BaseException:
            self.lost_transactions += 1
            raise

    # -- forgotten text that the file may still hold ---------------------------------------------
    #
    # SQLite overwrites deleted rows. But when it moved rows between pages before, it left copies in
    # unused parts of pages; only rewriting the file removes them all.

    def note_forgotten(self) -> None:
        """Record, in the caller's transaction, that something was forgotten."""
        self._count(_FORGOTTEN, 1)

    def note_replaced(self) -> None:
        """Record, in the caller's transaction, that an edit replaced something."""
        self._count(_REPLACED, 1)

    def count_forgotten(self) -> tuple[int, int]:
        """Return how often something was forgotten, and replaced, since the file was rewritten."""
        kept = dict(self.fetch_all("SELECT name, value FROM counters"))
        return kept.get(_FORGOTTEN, 0), kept.get(_REPLACED, 0)

    def settle(self, done: tuple[int, int]) -> None:
        """Subtract from these counts what a rewrite of the file has removed."""
        with self.transaction():
            for name, times in zip((_FORGOTTEN, _REPLACED), done, strict=True):
                self._count(name, -times)

    def _count(self, name: str, by: int) -> None:
        self.run(
            "INSERT INTO counters VALUES (?1, ?2)"
            " ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
            (name, by),
        )


def _migrate(db: sqlite3.Connection) -> None:
    """Migrate an open ledger to the current format; close it if that fails."""
    try:
        migrate(db)
    except BaseException:
        db.close()
        raise


def _connect(path: str, read_only: bool) -> sqlite3.Connection:
    if path == IN_MEMORY:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA temp_store = MEMORY")  # and sort in memory
    elif read_only:
        db = open_to_read(path)
    else:
        _make_private(path)
        # The writer is opened on the main thread and works on another.
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # Deleted content is overwritten, not left in free pages.
        db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return db


def suggest_cure(path: str) -> str:
    """Return what to do about a file that cannot be opened, read or written."""
    try:
        room = os.statvfs(os.path.dirname(os.path.abspath(path)))
    except OSError:
        return "check its directory"
    if is_read_only(path):
        return READ_ONLY
    full = room.f_bavail * room.f_frsize < _LITTLE_ROOM
    return "its disk is full: make room" if full else "check its disk, and who owns it"


def is_read_only(path: str) -> bool:
    """Return whether a file's file system no longer accepts writes.

    Only a write tells: a file system remounted after a disk error does not report it.
    """
    try:
        with tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(path))):
            return False
    except OSError as error:
        return error.errno == errno.EROFS


def _identify_file(path: str) -> tuple[int, int] | None:
    """Return the identity (device, inode) of a file; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _make_private(path: str) -> None:
    _make_directory(os.path.dirname(os.path.abspath(path)))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:  # SQLite gives its other files the same mode
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _make_directory(path: str) -> None:
    """Make a private directory, and missing ones above it."""
    if not os.path.isdir(path):
        _make_directory(os.path.dirname(path))
        os.makedirs(path, mode=0o700, exist_ok=True)


def open_to_read(path: str, *, shared: bool = False) -> sqlite3.Connection:
    """Open an existing database read-only.

    A `shared` connection may be used by any thread, one at a time.
    """
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{quoted}?mode=ro", uri=True, isolation_level=None, check_same_thread=not shared
    )
