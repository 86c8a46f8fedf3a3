"""The SQLite file beneath the ledger: opened privately, written in transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from irdaemon.ledger.schema import LedgerError, migrate

IN_MEMORY = ":memory:"


class Store:
    """One connection to one ledger file."""

    def __init__(self, path: str, *, read_only: bool = False):
        self.path = path
        self.lost_transactions = 0
        try:
            self._db = _connect(path, read_only)
            if not read_only:
                migrate(self._db)
        except sqlite3.Error as error:
            raise LedgerError(f"{path}: {error}", "check the disk and the file's owner") from error

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return self._db.execute(statement, values).fetchall()

    def each(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query and yield its rows as they are read."""
        return iter(self._db.execute(statement, values))

    def one(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        """Run a query and return its first row, or None."""
        row: tuple[Any, ...] | None = self._db.execute(statement, values).fetchone()
        return row

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run a statement inside the caller's transaction."""
        return self._db.execute(statement, values)

    def run_many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement once per row inside the caller's transaction; count rows changed."""
        return self._db.executemany(statement, rows).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all that happens within one transaction: wholly done, or not at all.

        Within another it is part of that one.
        """
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk makes SQLite roll back by itself
                self._db.execute("ROLLBACK")
            self.lost_transactions += 1
            raise


def _connect(path: str, read_only: bool) -> sqlite3.Connection:
    if path == IN_MEMORY:
        db = sqlite3.connect(path, isolation_level=None)
    elif read_only:
        db = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
    else:
        _make_private(path)
        # The one writer is opened on the main thread and works on its own.
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # What is forgotten is overwritten, not left in free pages.
        db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA busy_timeout = 5000")
    return db


def _make_private(path: str) -> None:
    _make_directory(os.path.dirname(os.path.abspath(path)))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077:  # a copy, say; what SQLite lays beside it follows
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _make_directory(path: str) -> None:
    """Make a directory for its owner alone, and those above it that are missing likewise."""
    if not os.path.isdir(path):
        _make_directory(os.path.dirname(path))
        os.makedirs(path, mode=0o700, exist_ok=True)


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
