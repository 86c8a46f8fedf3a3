"""Open another program's SQLite database without leaving a trace in it or beside it.

SQLite makes files beside a database in WAL mode as soon as it opens it, unless told that nothing
else writes. So one without a log is opened as immutable; one whose owner is at work has both files
already, and is read beside it. A log without its shared memory was left by a crash or a copy: then
only what had been written back is read.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

from irdaemon.source.opening import is_opened_again, open_regular
from irdaemon.source.sessions.transcript import parse_bounded_json
from irdaemon.types import SourceError

_MAGIC = b"SQLite format 3\0"
_WRITE_VERSION = 18
_WAL = 2
_PATIENCE_S = 1.0


_Value = TypeVar("_Value", dict[str, Any], list[Any])


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a database: a stamp that changes with it, and the time of its last change.

    `updated` is in seconds, 0 where it is unknown.
    """

    id: str
    stamp: str
    updated: float = 0.0


@contextmanager
def open_database(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database by its real path for reading only, for as long as the block lasts.

    Raises FileNotFoundError where it is gone, SourceError where it is no database or cannot be
    read, an error of SQLite within the block included.
    """
    with open_regular(path) as file:
        how = "mode=ro&immutable=1" if _is_at_rest(path, file) else "mode=ro&readonly_shm=1"
        try:
            with closing(_connect(f"file:{quote(path)}?{how}", path, file)) as connection:
                yield connection
        except sqlite3.Error as error:
            hint = "it is read again once it has changed"
            raise SourceError(f"{path}: SQLite cannot read it: {error}", hint) from error


def _connect(address: str, path: str, file: BinaryIO) -> sqlite3.Connection:
    """Open a database by SQLite, and check that it opened that very file.

    SQLite opens by name and follows links, even one that was put there a moment ago.
    """
    connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE_S)
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not is_opened_again(file):
            raise FileNotFoundError(errno.ENOENT, "something else was put in its place", path)
    except BaseException:
        connection.close()
        raise
    return connection


def list_tables(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of a database's tables."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(name for (name,) in rows)


def select_columns(connection: sqlite3.Connection, table: str, *wanted: str) -> str:
    """Return a list of columns to select, with NULL in place of those a table does not have."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    known = {name for (name,) in rows}
    return ", ".join(name if name in known else f"NULL AS {name}" for name in wanted)


def find_row(connection: sqlite3.Connection, table: str, id: str, *wanted: str) -> Any:
    """Return columns of the row with an id; None where there is none."""
    columns = select_columns(connection, table, *wanted)
    return connection.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (id,)).fetchone()


def parse_column(text: object, kind: type[_Value], skipped: Counter[str]) -> _Value:
    """Return the JSON value in a column; one of another type counts as skipped, and is empty."""
    try:
        value = parse_bounded_json(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, kind):
        return value
    skipped["bad_row"] += 1
    return kind()


def format_time(value: object, per_second: int) -> str:
    """Return a time as text: as it stands, or in ISO 8601 where it counts from 1970."""
    if isinstance(value, str):
        return value[:40]
    if not isinstance(value, (int, float)) or value <= 0:
        return ""
    try:
        return datetime.fromtimestamp(value / per_second, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _is_at_rest(path: str, file: BinaryIO) -> bool:
    """Return whether no process has a database in WAL mode open."""
    head = file.read(_WRITE_VERSION + 1)
    if not head.startswith(_MAGIC):
        raise SourceError(f"{path}: not an SQLite database", "leave it out of the corpus")
    in_wal_mode = head[_WRITE_VERSION] == _WAL
    return in_wal_mode and not (os.path.exists(path + "-wal") and os.path.exists(path + "-shm"))
