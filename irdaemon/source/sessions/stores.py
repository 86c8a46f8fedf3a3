"""Read sessions in databases: tell the product of a database, list its sessions, read one."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from irdaemon.source.sessions import cursor
from irdaemon.source.sessions.artifacts import Stream, make_reading
from irdaemon.source.sessions.database import (
    StoredSession,
    find_row,
    format_time,
    list_tables,
    open_database,
    parse_column,
    select_columns,
)
from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    PATH_LENGTH,
    TITLE_LENGTH,
    SessionFilter,
    SessionInfo,
    Transcript,
    clean_text,
    get_object,
    get_text,
    join_texts,
    list_blocks,
    strip_injected,
    strip_own,
)
from irdaemon.source.tree import shorten_path
from irdaemon.types import Entry, Reading, SourceError

# OpenCode's database: versions 1 have tables of messages and of their parts, versions 2 one table.

_Records = Sequence[Mapping[str, Any]]
_OPENCODE_PARTS = frozenset(
    {
        "text", "tool", "step-finish", "reasoning", "step-start", "patch", "snapshot", "file",
        "agent", "subtask", "retry", "compaction",
    }
)  # fmt: skip
_OPENCODE_IGNORED = frozenset(
    {"synthetic", "compaction", "system", "agent-switched", "model-switched"}
)


def _list_opencode(connection: sqlite3.Connection) -> Iterator[StoredSession]:
    """Yield every session that has messages."""
    newer = "session_v2" in list_tables(connection)
    sessions, messages = ("session_v2", "session_message") if newer else ("session", "message")
    selected = select_columns(connection, messages, "session_id", "time_created", "time_updated")
    about = select_columns(connection, sessions, "id", "title")
    query = (
        "SELECT id, title, n, created, updated FROM (SELECT session_id, count(*) n,"
        " max(CAST(time_created AS INTEGER)) created, max(CAST(time_updated AS INTEGER)) updated"
        f" FROM (SELECT {selected} FROM {messages}) GROUP BY session_id)"
        f" JOIN (SELECT {about} FROM {sessions}) ON id = session_id ORDER BY id"
    )
    for id, title, count, created, updated in connection.execute(query):
        latest = max(created or 0, updated or 0)
        yield StoredSession(str(id), f"{count}-{latest}-{title or ''}", latest / 1000)


def _read_opencode(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    newer = "session_v2" in list_tables(connection)
    table = "session_v2" if newer else "session"
    row = find_row(connection, table, id, "title", "directory", "parent_id")
    if row is None:
        return None
    title, directory, parent = row
    log = _make_log(id, directory, title, skipped)
    (_read_newer if newer else _read_older)(connection, log)
    return log.fold(), bool(parent)


def _make_log(id: str, cwd: object, title: object, skipped: Counter[str]) -> SessionLog:
    cwd, title = clean_text(cwd, PATH_LENGTH), clean_text(title, TITLE_LENGTH).strip()
    return SessionLog(SessionInfo(id, cwd, title), skipped)


def _read_newer(connection: sqlite3.Connection, log: SessionLog) -> None:
    rows = connection.execute(
        "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?"
        " ORDER BY seq",
        (log.session.id,),
    )
    for at, (id, kind, created, text) in enumerate(rows):
        data, when = parse_column(text, dict, log.skipped), format_time(created, 1000)
        if kind == "user":
            log.ask(at, str(id), strip_injected(clean_text(data.get("text"))), when)
        elif kind == "assistant":
            _add_parts(log, at, list_blocks(data.get("content")), data)
        elif kind == "idle":
            log.mark("end" if data.get("outcome") == "succeeded" else "stopped", at)
        elif kind not in _OPENCODE_IGNORED:
            log.skipped[f"record:{str(kind)[:40]}"] += 1


def _read_older(connection: sqlite3.Connection, log: SessionLog) -> None:
    rows = connection.execute(
        "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id",
        (log.session.id,),
    )
    for at, (id, created, text) in enumerate(rows.fetchall()):
        data, when = parse_column(text, dict, log.skipped), format_time(created, 1000)
        found = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (id,))
        parts = [parse_column(text, dict, log.skipped) for (text,) in found]
        _count_unknown(parts, _OPENCODE_PARTS, log.skipped)
        if data.get("role") == "user":
            # What a program put into a message is marked as synthetic.
            typed = [each for each in parts if not (each.get("synthetic") or each.get("ignored"))]
            log.ask(at, str(id), strip_injected(join_texts(typed)), when)
        elif data.get("role") == "assistant":
            _add_parts(log, at, parts, data)
            if error := get_object(data, "error"):
                log.mark("stopped" if error.get("name") == "MessageAbortedError" else "failed", at)
            elif any(p.get("type") == "step-finish" and p.get("reason") == "stop" for p in parts):
                log.mark("end", at)
        else:
            log.skipped[f"role:{get_text(data, 'role', 40) or 'none'}"] += 1


def _add_parts(log: SessionLog, at: int, parts: _Records, message: Mapping[str, Any]) -> None:
    inner = get_object(message, "model")
    model = message.get("modelID") or inner.get("modelID") or inner.get("id")
    for each in parts:
        if each.get("type") == "tool":
            name = each.get("tool") or each.get("name")
            state, id = get_object(each, "state"), each.get("callID") or each.get("id")
            log.call(at, [{**state, "name": name, "id": id}], "input")
            # A command that failed is completed, with an exit code.
            code = get_object(state, "metadata").get("exit")
            failed = state.get("status") == "error" or (isinstance(code, int) and code != 0)
            log.add_result(at, id, failed, state.get("error") or state.get("output"))
        elif each.get("type") == "text":
            log.say(at, each.get("text"), model)


def _count_unknown(parts: _Records, known: Set[str], skipped: Counter[str]) -> None:
    for each in parts:
        kind = get_text(each, "type", 40)
        if kind not in known:
            skipped[f"part:{kind or 'untyped'}"] += 1


# Goose's database.

_GOOSE_ITEMS = frozenset(
    {
        "text", "image", "toolRequest", "toolResponse", "thinking", "redactedThinking",
        "frontendToolRequest", "toolConfirmationRequest", "systemNotification", "actionRequired",
        "contextLengthExceeded", "summarizationRequested",
    }
)  # fmt: skip
_GOOSE_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
# Goose says this itself, under the agent's name once a person has interrupted it.
_GOOSE_INTERRUPTED = "was interrupted. How would you like to proceed?"


def _list_goose(connection: sqlite3.Connection) -> Iterator[StoredSession]:
    """Yield every session that has messages."""
    about = select_columns(connection, "sessions", "id", "name", "updated_at")
    query = (
        "SELECT id, name, n, latest, updated_at FROM (SELECT session_id, count(*) n, max(rowid)"
        f" latest FROM messages GROUP BY session_id) JOIN (SELECT {about} FROM sessions)"
        " ON id = session_id ORDER BY id"
    )
    for id, name, count, latest, updated in connection.execute(query):
        yield StoredSession(str(id), f"{count}-{latest}-{updated}-{name or ''}")


def _read_goose(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    columns = ("name", "description", "working_dir", "session_type")
    row = find_row(connection, "sessions", id, *columns)
    if row is None:
        return None
    name, description, cwd, kind = row
    log = _make_log(id, cwd, description or name, skipped)
    rows = connection.execute(
        "SELECT rowid, role, content_json, created_timestamp FROM messages WHERE session_id = ?"
        " ORDER BY rowid",
        (id,),
    )
    for at, role, text, created in rows:
        items = list_blocks(parse_column(text, list, skipped))
        _count_unknown(items, _GOOSE_ITEMS, skipped)
        if role == "assistant":
            _add_items(log, at, items)
        elif role != "user":
            skipped[f"role:{str(role)[:40]}"] += 1
        # The result of a tool comes under the user's name.
        elif answered := [item for item in items if item.get("type") == "toolResponse"]:
            for item in answered:
                _add_response(log, at, item)
        else:
            log.ask(at, str(at), strip_injected(join_texts(items)), format_time(created, 1))
    # Nothing marks the end.
    return log.fold(assume_end=log.ends_with_text), kind == "sub_agent"


def _add_items(log: SessionLog, at: int, items: _Records) -> None:
    for item in items:
        if get_text(item, "type") in _GOOSE_CALLS:
            called = get_object(get_object(item, "toolCall"), "value")
            log.call(at, [{**called, "id": item.get("id")}], "arguments")
        elif item.get("type") == "text":
            text = strip_own(clean_text(item.get("text")))
            if text.startswith("The ") and text.endswith(_GOOSE_INTERRUPTED):
                log.mark("stopped", at)
            else:
                log.say(at, text)


def _add_response(log: SessionLog, at: int, item: Mapping[str, Any]) -> None:
    result = get_object(item, "toolResult")
    value = get_object(result, "value")
    text = join_texts(value.get("content") if value else result.get("value"))
    failed = result.get("status") == "error" or value.get("isError") is True
    log.add_result(at, item.get("id"), failed, text or result.get("error"))


_FILES = re.compile(r"state\.vscdb|sessions\.db|opencode(-[\w.]+)?\.db")
_SIDE_FILE = re.compile(r"-(wal|journal|shm)$")
# Between the path of a database and the id of a session in it.
_SEPARATOR = "#"


# A transcript, and whether an agent started the session.
_Session = tuple[Transcript, bool]


@dataclass(frozen=True, slots=True)
class SessionStore:
    """The database of a product, which has all tables of one of `tables`."""

    tables: tuple[Set[str], ...]
    list_sessions: Callable[[sqlite3.Connection], Iterator[StoredSession]]
    read_transcript: Callable[[sqlite3.Connection, str, Counter[str]], _Session | None]


STORES: dict[str, SessionStore] = {
    "opencode": SessionStore(
        ({"session_v2", "session_message"}, {"session", "message", "part"}),
        _list_opencode,
        _read_opencode,
    ),
    "goose": SessionStore(({"sessions", "messages"},), _list_goose, _read_goose),
    "cursor": SessionStore(({cursor.TABLE},), cursor.list_chats, cursor.read_chat),
}


def is_store(path: str) -> bool:
    """Return whether a file's name is that of a database of sessions."""
    return bool(_FILES.fullmatch(os.path.basename(path)))


def find_scan_target(path: str) -> str:
    """Return the path to scan for a change at `path`: mostly that itself, "" for none.

    A write to the log of a database is one to it. Its shared memory is ignored: a read changes it.
    Cursor writes other things many times a minute: its chats wait for a whole scan.
    """
    store = _SIDE_FILE.sub("", path)
    if not is_store(store):
        return path
    waits = os.path.basename(store) == cursor.FILE_NAME and os.path.exists(store)
    return "" if waits or path.endswith("-shm") else store


def list_sessions(path: str, scope: str, since: float) -> list[Entry]:
    """Enumerate the sessions in a database that changed since a time in seconds.

    Raises FileNotFoundError or SourceError.
    """
    with open_database(path) as connection:
        _, store = _find_store(connection, path)
        return [
            Entry(f"{shorten_path(path)}{_SEPARATOR}{each.id}", path, each.stamp, 0, scope)
            for each in store.list_sessions(connection)
            if not each.updated or each.updated >= since
        ]


def read_stored(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read one session of a database. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    with open_database(entry.path) as connection:
        agent, store = _find_store(connection, entry.path)
        read = store.read_transcript(connection, entry.key.rpartition(_SEPARATOR)[2], skipped)
    if read is None:
        raise FileNotFoundError(entry.key)
    found, is_subagent = read
    if is_subagent and not wanted.subagents:
        return Reading((), skipped={"subagent": 1})
    stream = Stream(entry.path, entry.scope, agent, "subagent" if is_subagent else "session")
    return make_reading(stream, found, wanted.titles, skipped)


def _find_store(connection: sqlite3.Connection, path: str) -> tuple[str, SessionStore]:
    names = list_tables(connection)
    for agent, store in STORES.items():
        if any(each <= names for each in store.tables):
            return agent, store
    raise SourceError(
        f"{path}: its tables match no known agent ({', '.join(sorted(names)) or 'none'})",
        "leave it out of the corpus, or report its agent and version",
    )
