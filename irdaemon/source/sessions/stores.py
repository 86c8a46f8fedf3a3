"""Sessions in databases: which product's a database is, what it holds, and one of them read."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from irdaemon.source.sessions import cursor_store, goose, opencode
from irdaemon.source.sessions.artifacts import Stream, artifacts_of, dropped, session_turns
from irdaemon.source.sessions.database import Kept, opened, tables
from irdaemon.source.sessions.transcript import SessionFilter, Transcript
from irdaemon.source.tree import home_relative
from irdaemon.types import Entry, Reading, SourceError

_NAMES = re.compile(r"state\.vscdb|sessions\.db|opencode(-[\w.]+)?\.db")
_BESIDE = re.compile(r"-(wal|journal|shm)$")
# Between the path of a database and the id of a session in it.
_IN = "#"


@dataclass(frozen=True, slots=True)
class SessionStore:
    """One product's way of keeping sessions in a database, recognised by its tables."""

    recognises: Callable[[frozenset[str]], bool]
    kept: Callable[[sqlite3.Connection], Iterator[Kept]]
    transcript: Callable[[sqlite3.Connection, str, Counter[str]], tuple[Transcript, bool] | None]


STORES: dict[str, SessionStore] = {
    "opencode": SessionStore(opencode.recognises, opencode.kept, opencode.transcript),
    "goose": SessionStore(goose.recognises, goose.kept, goose.transcript),
    "cursor": SessionStore(cursor_store.recognises, cursor_store.kept, cursor_store.transcript),
}


def is_store(path: str) -> bool:
    """Return whether a file's name is that of a database of sessions."""
    return bool(_NAMES.fullmatch(os.path.basename(path)))


def target_of(path: str) -> str:
    """Return the path to scan for a change at `path`: mostly that itself, "" for none.

    A write to the log of a database is one to it. Its shared memory is ignored: a read changes it.
    Cursor writes many times a minute what is no message: its chats wait for a whole scan.
    """
    store = _BESIDE.sub("", path)
    if not is_store(store):
        return path
    waits = os.path.basename(store) == cursor_store.FILE_NAME and os.path.exists(store)
    return "" if waits or path.endswith("-shm") else store


def entries(path: str, scope: str, since: float) -> list[Entry]:
    """Enumerate the sessions in a database that changed since a time in seconds.

    Raises FileNotFoundError or SourceError.
    """
    with opened(path) as connection:
        _, store = _store(connection, path)
        return [
            Entry(f"{home_relative(path)}{_IN}{each.id}", path, each.stamp, 0, scope)
            for each in store.kept(connection)
            if not each.updated or each.updated >= since
        ]


def read_stored(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read one session of a database. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    with opened(entry.path) as connection:
        agent, store = _store(connection, entry.path)
        read = store.transcript(connection, entry.key.rpartition(_IN)[2], skipped)
    if read is None:
        raise FileNotFoundError(entry.key)
    found, is_subagent = read
    if is_subagent and not wanted.subagents:
        return Reading((), skipped={"subagent": 1})
    stream = Stream(entry.path, entry.scope, agent, "subagent" if is_subagent else "session")
    made = {a.artifact_id: a for a in artifacts_of(stream, found, wanted.titles)}
    skipped.update(dropped(found))
    turns = session_turns(stream, found)
    return Reading(tuple(made.values()), skipped=dict(skipped), turns=turns)


def _store(connection: sqlite3.Connection, path: str) -> tuple[str, SessionStore]:
    names = tables(connection)
    for agent, store in STORES.items():
        if store.recognises(names):
            return agent, store
    raise SourceError(
        f"{path}: its tables are those of no known agent ({', '.join(sorted(names)) or 'none'})",
        "leave it out of the corpus, or report its agent and version",
    )
