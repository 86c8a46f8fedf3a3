"""Read sessions in databases: tell the product of a database, list its sessions, read one."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

from irdaemon.source.opening import is_opened_again, open_regular
from irdaemon.source.sessions.artifacts import Stream, make_reading
from irdaemon.source.sessions.cursor import find_query
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
    parse_bounded_json,
    strip_injected,
    strip_own,
)
from irdaemon.source.tree import shorten_path
from irdaemon.types import Entry, Reading, SourceError

# Open another program's SQLite database without leaving a trace in it or beside it.
#
# SQLite makes files beside a database in WAL mode as soon as it opens it, unless told that nothing
# else writes. So one without a log is opened as immutable; one whose owner is at work has both
# files already, and is read beside it. A log without its shared memory was left by a crash or a
# copy: then only what had been written back is read.

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


# Read the chats in the Cursor editor's database: a table of keys and JSON values.
#
# It can hold gigabytes, so only ranges of keys are asked for, and values one chat at a time.

CURSOR_FILE = "state.vscdb"
_CURSOR_TABLE = "cursorDiskKV"
_CHAT, _BUBBLE = "composerData:", "bubbleId:"
_PERSON, _AGENT = 1, 2
_AT_WORK = "generating"


def _list_cursor(connection: sqlite3.Connection) -> Iterator[StoredSession]:
    """Yield every chat that has messages."""
    query = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ?"
    keys = connection.execute(query, _make_range(_BUBBLE))
    bubbles = Counter(key.split(":")[1] for (key,) in keys)
    rows = connection.execute(
        "SELECT key, CASE WHEN json_valid(text) THEN json_extract(text, '$.lastUpdatedAt') END,"
        " CASE WHEN json_valid(text) THEN json_extract(text, '$.status') END,"
        " CASE WHEN json_valid(text) THEN json_array_length(text, '$.conversation') END"
        " FROM (SELECT key, CAST(value AS TEXT) text FROM cursorDiskKV"
        " WHERE key >= ? AND key < ?) ORDER BY key",
        _make_range(_CHAT),
    )
    for key, updated, status, inline in rows:
        id = key.removeprefix(_CHAT)
        if count := bubbles[id] + (inline or 0):
            seconds = updated / 1000 if isinstance(updated, (int, float)) else 0.0
            yield StoredSession(id, f"{count}-{updated}-{status}", seconds)


def _read_cursor(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a chat, and return whether an agent started it; None where it is gone."""
    row = connection.execute(
        "SELECT value FROM cursorDiskKV WHERE key = ?", (_CHAT + id,)
    ).fetchone()
    if row is None:
        return None
    chat = parse_column(row[0], dict, skipped)
    title = get_text(chat, "name", TITLE_LENGTH).strip()
    log = SessionLog(SessionInfo(id, custom_title=title), skipped)
    for at, (key, bubble) in enumerate(_list_bubbles(connection, id, chat, skipped)):
        _add_bubble(log, at, key, bubble)
    if chat.get("status") == "aborted":
        log.mark("stopped", len(log.steps))
    # Nothing marks the end of a turn.
    done = log.ends_with_text and chat.get("status") != _AT_WORK
    return log.fold(assume_end=done), bool(chat.get("subagentInfo"))


def _list_bubbles(
    connection: sqlite3.Connection, id: str, chat: Mapping[str, Any], skipped: Counter[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the messages of a chat in its order; older versions keep them within the chat."""
    if inline := list_blocks(chat.get("conversation")):
        return [(get_text(each, "bubbleId"), each) for each in inline]
    prefix = f"{_BUBBLE}{id}:"
    rows = connection.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key",
        _make_range(prefix),
    )
    found = {key.removeprefix(prefix): parse_column(value, dict, skipped) for key, value in rows}
    headers = list_blocks(chat.get("fullConversationHeadersOnly"))
    order = [get_text(header, "bubbleId") for header in headers]
    return [(each, found[each]) for each in order if each in found]


def _add_bubble(log: SessionLog, at: int, key: str, bubble: Mapping[str, Any]) -> None:
    kind, text = bubble.get("type"), clean_text(bubble.get("text"))
    if kind == _PERSON:
        log.ask(at, key or str(at), find_query(text), format_time(bubble.get("createdAt"), 1000))
    elif kind == _AGENT:
        log.say(at, text, get_object(bubble, "modelInfo").get("modelName"))
        if call := get_object(bubble, "toolFormerData"):
            given = call.get("rawArgs") or call.get("params")
            id = call.get("toolCallId") or f"#{at}"
            log.call(at, [{"name": call.get("name"), "args": given, "id": id}], "args")
            log.add_result(at, id, call.get("status") == "error", call.get("result"))
    else:
        log.skipped[f"record:{str(kind)[:40]}"] += 1


def _make_range(prefix: str) -> tuple[str, str]:
    """Return the bounds between which all keys with a prefix lie."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


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
    "cursor": SessionStore(({_CURSOR_TABLE},), _list_cursor, _read_cursor),
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
    waits = os.path.basename(store) == CURSOR_FILE and os.path.exists(store)
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
