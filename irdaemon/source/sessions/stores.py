"""Sessions in databases: which product's a database is, what it holds, and one of them read."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from irdaemon.source.sessions import cursor
from irdaemon.source.sessions.artifacts import Stream, make_reading
from irdaemon.source.sessions.database import (
    Kept,
    format_time,
    list_tables,
    open_database,
    parse_column,
    select_columns,
)
from irdaemon.source.sessions.item_uses import read_call
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    TITLE_LENGTH,
    SessionFilter,
    SessionInfo,
    Setting,
    Step,
    Transcript,
    clean_text,
    fold_turns,
    get_object,
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
    session = SessionInfo(
        id, clean_text(directory, PATH_LENGTH), clean_text(title, TITLE_LENGTH).strip()
    )
    steps = (_newer_steps if newer else _older_steps)(connection, session, skipped)
    return Transcript(tuple(fold_turns(steps)), session), bool(parent)


def _newer_steps(
    connection: sqlite3.Connection, session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    rows = connection.execute(
        "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?"
        " ORDER BY seq",
        (session.id,),
    )
    for at, (id, kind, created, text) in enumerate(rows):
        data = parse_column(text, skipped)
        if kind == "user":
            yield from _prompt_steps(
                at, str(id), clean_text(data.get("text")), _setting(session, created)
            )
        elif kind == "assistant":
            yield from _agent_steps(at, list_blocks(data.get("content")), _model(data))
        elif kind == "idle":
            yield Step("end" if data.get("outcome") == "succeeded" else "stopped", at)
        elif kind not in _OPENCODE_IGNORED:
            skipped[f"record:{str(kind)[:40]}"] += 1


def _older_steps(
    connection: sqlite3.Connection, session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    rows = connection.execute(
        "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id",
        (session.id,),
    )
    for at, (id, created, text) in enumerate(rows.fetchall()):
        data = parse_column(text, skipped)
        parts = _parts(connection, id, skipped)
        if data.get("role") == "user":
            yield from _prompt_steps(at, str(id), _typed(parts), _setting(session, created))
        elif data.get("role") == "assistant":
            yield from _agent_steps(at, parts, _model(data))
            yield from _end_steps(at, data, parts)
        else:
            skipped[f"role:{clean_text(data.get('role'), 40) or 'none'}"] += 1


def _parts(
    connection: sqlite3.Connection, message: str, skipped: Counter[str]
) -> list[Mapping[str, Any]]:
    rows = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (message,))
    parts = [parse_column(text, skipped) for (text,) in rows]
    for each in parts:
        kind = clean_text(each.get("type"), 40)
        if kind not in _OPENCODE_PARTS:
            skipped[f"part:{kind or 'untyped'}"] += 1
    return parts


def _typed(parts: list[Mapping[str, Any]]) -> str:
    """Return the text of a message; what a program put into it is marked as synthetic."""
    return "\n".join(
        clean_text(each.get("text"))
        for each in parts
        if each.get("type") == "text" and not each.get("synthetic") and not each.get("ignored")
    )


def _prompt_steps(at: int, id: str, text: str, setting: Setting) -> Iterable[Step]:
    if typed := strip_injected(text):
        yield Step("prompt", at, typed, id, setting=setting)


def _agent_steps(at: int, blocks: list[Mapping[str, Any]], model: str) -> Iterable[Step]:
    for block in blocks:
        if block.get("type") == "tool":
            given = get_object(block, "state").get("input")
            uses = read_call(block.get("tool") or block.get("name"), given)
            yield Step("tool", at, uses=uses)
        elif block.get("type") == "text" and (text := strip_own(clean_text(block.get("text")))):
            yield Step("text", at, text, model=model)


def _end_steps(at: int, data: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> Iterable[Step]:
    error = get_object(data, "error")
    if error:
        yield Step("stopped" if error.get("name") == "MessageAbortedError" else "failed", at)
    elif any(p.get("type") == "step-finish" and p.get("reason") == "stop" for p in parts):
        yield Step("end", at)


def _setting(session: SessionInfo, created: object) -> Setting:
    return Setting(session.id, session.cwd, "", format_time(created, 1000))


def _model(data: Mapping[str, Any]) -> str:
    inner = get_object(data, "model")
    return clean_text(data.get("modelID") or inner.get("modelID") or inner.get("id"), ID_LENGTH)


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
    session = SessionInfo(id, clean_text(cwd, PATH_LENGTH), title)
    steps = list(_goose_steps(connection, session, skipped))
    # Nothing marks the end; but after a tool call more is to come.
    done = bool(steps) and steps[-1].kind == "text"
    turns = fold_turns(steps, assume_end=done)
    return Transcript(tuple(turns), session), kind == "sub_agent"


def _goose_steps(
    connection: sqlite3.Connection, session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    rows = connection.execute(
        "SELECT rowid, role, content_json, created_timestamp FROM messages WHERE session_id = ?"
        " ORDER BY rowid",
        (session.id,),
    )
    for row, role, text, created in rows:
        items = _items(text, skipped)
        if role == "user":
            yield from _asked(row, items, session, format_time(created, 1))
        elif role == "assistant":
            yield from _said(row, items)
        else:
            skipped[f"role:{str(role)[:40]}"] += 1


def _asked(
    row: int, items: list[Mapping[str, Any]], session: SessionInfo, when: str
) -> Iterable[Step]:
    # The result of a tool comes under the user's name.
    if any(item.get("type") == "toolResponse" for item in items):
        return
    text = strip_injected(
        "\n".join(clean_text(i.get("text")) for i in items if i.get("type") == "text")
    )
    if text:
        setting = Setting(session.id, session.cwd, "", when)
        yield Step("prompt", row, text, str(row), setting=setting)


def _said(row: int, items: list[Mapping[str, Any]]) -> Iterable[Step]:
    for item in items:
        if clean_text(item.get("type")) in _GOOSE_CALLS:
            call = get_object(get_object(item, "toolCall"), "value")
            uses = read_call(call.get("name"), call.get("arguments"))
            yield Step("tool", row, uses=uses)
        elif item.get("type") == "text" and (text := strip_own(clean_text(item.get("text")))):
            stopped = text.startswith("The ") and text.endswith(_GOOSE_INTERRUPTED)
            yield Step("stopped", row) if stopped else Step("text", row, text)


def _items(text: object, skipped: Counter[str]) -> list[Mapping[str, Any]]:
    try:
        value = parse_bounded_json(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        skipped["bad_row"] += 1
    items = list_blocks(value)
    for item in items:
        kind = clean_text(item.get("type"), 40)
        if kind not in _GOOSE_ITEMS:
            skipped[f"part:{kind or 'untyped'}"] += 1
    return items


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
        f"{path}: its tables are those of no known agent ({', '.join(sorted(names)) or 'none'})",
        "leave it out of the corpus, or report its agent and version",
    )
