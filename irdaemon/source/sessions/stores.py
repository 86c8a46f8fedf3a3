"""Sessions in databases: which product's a database is, what it holds, and one of them read."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from irdaemon.source.sessions import cursor
from irdaemon.source.sessions.artifacts import Stream, make_reading
from irdaemon.source.sessions.calls import ResultState
from irdaemon.source.sessions.database import (
    Kept,
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
    join_texts,
    list_blocks,
    parse_bounded_json,
    strip_injected,
    strip_own,
)
from irdaemon.source.tree import shorten_path
from irdaemon.types import Entry, Reading, SourceError

# Read OpenCode's database: versions 1 keep messages and their parts, versions 2 one table.

_OPENCODE_PARTS = frozenset(
    {
        "text", "tool", "step-finish", "reasoning", "step-start", "patch", "snapshot", "file",
        "agent", "subtask", "retry", "compaction",
    }
)  # fmt: skip
_OPENCODE_IGNORED = frozenset(
    {"synthetic", "compaction", "system", "agent-switched", "model-switched"}
)


def _opencode_sessions(connection: sqlite3.Connection) -> Iterator[Kept]:
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
        yield Kept(str(id), f"{count}-{latest}-{title or ''}", latest / 1000)


def _read_opencode(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    newer = "session_v2" in list_tables(connection)
    table = "session_v2" if newer else "session"
    wanted = select_columns(connection, table, "title", "directory", "parent_id")
    row = connection.execute(f"SELECT {wanted} FROM {table} WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    title, directory, parent = row
    cwd, title = clean_text(directory, PATH_LENGTH), clean_text(title, TITLE_LENGTH).strip()
    log = SessionLog(SessionInfo(id, cwd, title), skipped)
    (_read_newer if newer else _read_older)(connection, log)
    return log.fold(), bool(parent)


def _read_newer(connection: sqlite3.Connection, log: SessionLog) -> None:
    rows = connection.execute(
        "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?"
        " ORDER BY seq",
        (log.session.id,),
    )
    for at, (id, kind, created, text) in enumerate(rows):
        data = parse_column(text, log.skipped)
        if kind == "user":
            prompt = strip_injected(clean_text(data.get("text")))
            log.ask(at, str(id), prompt, format_time(created, 1000))
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
        data = parse_column(text, log.skipped)
        found = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (id,))
        parts = [parse_column(text, log.skipped) for (text,) in found]
        _count_unknown(parts, _OPENCODE_PARTS, log.skipped)
        if data.get("role") == "user":
            # What a program put into a message is marked as synthetic.
            typed = [each for each in parts if not (each.get("synthetic") or each.get("ignored"))]
            log.ask(at, str(id), strip_injected(_join_parts(typed)), format_time(created, 1000))
        elif data.get("role") == "assistant":
            _add_parts(log, at, parts, data)
            error = get_object(data, "error")
            if error:
                log.mark("stopped" if error.get("name") == "MessageAbortedError" else "failed", at)
            elif any(p.get("type") == "step-finish" and p.get("reason") == "stop" for p in parts):
                log.mark("end", at)
        else:
            log.skipped[f"role:{clean_text(data.get('role'), 40) or 'none'}"] += 1


def _add_parts(
    log: SessionLog, at: int, parts: list[Mapping[str, Any]], message: Mapping[str, Any]
) -> None:
    inner = get_object(message, "model")
    model = message.get("modelID") or inner.get("modelID") or inner.get("id")
    for each in parts:
        if each.get("type") == "tool":
            name = each.get("tool") or each.get("name")
            state, id = get_object(each, "state"), each.get("callID") or each.get("id")
            log.call(at, [{**state, "name": name, "id": id}], "input")
            log.add_result(at, id, *_read_state(state))
        elif each.get("type") == "text":
            log.say(at, each.get("text"), model)


def _read_state(state: Mapping[str, Any]) -> tuple[ResultState, str]:
    """Return what came of a tool; a command that failed is completed with an exit code."""
    code = get_object(state, "metadata").get("exit")
    text = clean_text(state.get("error") or state.get("output"))
    failed = state.get("status") == "error" or (isinstance(code, int) and code != 0)
    return "failed" if failed else "done", text


def _count_unknown(parts: list[Mapping[str, Any]], known: Set[str], skipped: Counter[str]) -> None:
    for each in parts:
        kind = clean_text(each.get("type"), 40)
        if kind not in known:
            skipped[f"part:{kind or 'untyped'}"] += 1


def _join_parts(parts: list[Mapping[str, Any]]) -> str:
    return "\n".join(clean_text(p.get("text")) for p in parts if p.get("type") == "text")


# Read Goose's database.

_GOOSE_ITEMS = frozenset(
    {
        "text", "image", "toolRequest", "toolResponse", "thinking", "redactedThinking",
        "frontendToolRequest", "toolConfirmationRequest", "systemNotification", "actionRequired",
        "contextLengthExceeded", "summarizationRequested",
    }
)  # fmt: skip
_GOOSE_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
# What Goose itself says under the agent's name once a person has interrupted it.
_GOOSE_INTERRUPTED = "was interrupted. How would you like to proceed?"


def _goose_sessions(connection: sqlite3.Connection) -> Iterator[Kept]:
    """Yield every session that has messages."""
    about = select_columns(connection, "sessions", "id", "name", "updated_at")
    query = (
        "SELECT id, name, n, latest, updated_at FROM (SELECT session_id, count(*) n, max(rowid)"
        f" latest FROM messages GROUP BY session_id) JOIN (SELECT {about} FROM sessions)"
        " ON id = session_id ORDER BY id"
    )
    for id, name, count, latest, updated in connection.execute(query):
        yield Kept(str(id), f"{count}-{latest}-{updated}-{name or ''}")


def _read_goose(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    wanted = select_columns(
        connection, "sessions", "name", "description", "working_dir", "session_type"
    )
    row = connection.execute(f"SELECT {wanted} FROM sessions WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    name, description, cwd, kind = row
    title = clean_text(description or name, TITLE_LENGTH).strip()
    log = SessionLog(SessionInfo(id, clean_text(cwd, PATH_LENGTH), title), skipped)
    rows = connection.execute(
        "SELECT rowid, role, content_json, created_timestamp FROM messages WHERE session_id = ?"
        " ORDER BY rowid",
        (id,),
    )
    for at, role, text, created in rows:
        items = _parse_items(text, skipped)
        _count_unknown(items, _GOOSE_ITEMS, skipped)
        if role == "assistant":
            _add_items(log, at, items)
        elif role != "user":
            skipped[f"role:{str(role)[:40]}"] += 1
        # The result of a tool comes under the user's name.
        elif answered := [item for item in items if item.get("type") == "toolResponse"]:
            for item in answered:
                log.add_result(at, item.get("id"), *_read_response(item))
        else:
            log.ask(at, str(at), strip_injected(_join_parts(items)), format_time(created, 1))
    # Nothing marks the end.
    return log.fold(assume_end=log.ends_with_text), kind == "sub_agent"


def _add_items(log: SessionLog, at: int, items: list[Mapping[str, Any]]) -> None:
    for item in items:
        if clean_text(item.get("type")) in _GOOSE_CALLS:
            called = get_object(get_object(item, "toolCall"), "value")
            log.call(at, [{**called, "id": item.get("id")}], "arguments")
        elif item.get("type") == "text":
            text = strip_own(clean_text(item.get("text")))
            if text.startswith("The ") and text.endswith(_GOOSE_INTERRUPTED):
                log.mark("stopped", at)
            else:
                log.say(at, text)


def _read_response(item: Mapping[str, Any]) -> tuple[ResultState, str]:
    result = get_object(item, "toolResult")
    value = result.get("value")
    content = value.get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or (
        isinstance(value, dict) and value.get("isError") is True
    )
    return "failed" if failed else "done", join_texts(content) or clean_text(result.get("error"))


def _parse_items(text: object, skipped: Counter[str]) -> list[Mapping[str, Any]]:
    try:
        value = parse_bounded_json(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        skipped["bad_row"] += 1
    return list_blocks(value)


_NAMES = re.compile(r"state\.vscdb|sessions\.db|opencode(-[\w.]+)?\.db")
_BESIDE = re.compile(r"-(wal|journal|shm)$")
# Between the path of a database and the id of a session in it.
_IN = "#"


@dataclass(frozen=True, slots=True)
class SessionStore:
    """How a product keeps sessions in a database, which has all tables of one of `tables`."""

    tables: tuple[Set[str], ...]
    kept: Callable[[sqlite3.Connection], Iterator[Kept]]
    transcript: Callable[[sqlite3.Connection, str, Counter[str]], tuple[Transcript, bool] | None]


STORES: dict[str, SessionStore] = {
    "opencode": SessionStore(
        ({"session_v2", "session_message"}, {"session", "message", "part"}),
        _opencode_sessions,
        _read_opencode,
    ),
    "goose": SessionStore(({"sessions", "messages"},), _goose_sessions, _read_goose),
    "cursor": SessionStore(({cursor.TABLE},), cursor.list_chats, cursor.read_chat),
}


def is_store(path: str) -> bool:
    """Return whether a file's name is that of a database of sessions."""
    return bool(_NAMES.fullmatch(os.path.basename(path)))


def find_scan_target(path: str) -> str:
    """Return the path to scan for a change at `path`: mostly that itself, "" for none.

    A write to the log of a database is one to it. Its shared memory is ignored: a read changes it.
    Cursor writes many times a minute what is no message: its chats wait for a whole scan.
    """
    store = _BESIDE.sub("", path)
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
            Entry(f"{shorten_path(path)}{_IN}{each.id}", path, each.stamp, 0, scope)
            for each in store.kept(connection)
            if not each.updated or each.updated >= since
        ]


def read_stored(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read one session of a database. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    with open_database(entry.path) as connection:
        agent, store = _find_store(connection, entry.path)
        read = store.transcript(connection, entry.key.rpartition(_IN)[2], skipped)
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
