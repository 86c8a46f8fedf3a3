"""Read OpenCode's database: versions 1 keep messages and their parts, versions 2 one table."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from irdaemon.source.sessions.blocks import authored, without_own
from irdaemon.source.sessions.cursor import SessionInfo
from irdaemon.source.sessions.database import Kept, columns, json_of, tables, time_of
from irdaemon.source.sessions.item_uses import uses_of_call
from irdaemon.source.sessions.lines import ID_LENGTH, PATH_LENGTH, TITLE_LENGTH, part, plain
from irdaemon.source.sessions.pairing import Setting, Step, turns_of
from irdaemon.source.sessions.prompt import blocks_of
from irdaemon.source.sessions.transcript import Transcript

_PARTS = frozenset(
    {
        "text", "tool", "step-finish", "reasoning", "step-start", "patch", "snapshot", "file",
        "agent", "subtask", "retry", "compaction",
    }
)  # fmt: skip
_NO_MATTER = frozenset({"synthetic", "compaction", "system", "agent-switched", "model-switched"})


def recognises(names: frozenset[str]) -> bool:
    """Return whether a database is OpenCode's, by its tables."""
    return {"session_v2", "session_message"} <= names or {"session", "message", "part"} <= names


def kept(connection: sqlite3.Connection) -> Iterator[Kept]:
    """Yield every session that has messages."""
    newer = "session_v2" in tables(connection)
    sessions, messages = ("session_v2", "session_message") if newer else ("session", "message")
    selected = columns(connection, messages, "session_id", "time_created", "time_updated")
    about = columns(connection, sessions, "id", "title")
    query = (
        "SELECT id, title, n, created, updated FROM (SELECT session_id, count(*) n,"
        " max(CAST(time_created AS INTEGER)) created, max(CAST(time_updated AS INTEGER)) updated"
        f" FROM (SELECT {selected} FROM {messages}) GROUP BY session_id)"
        f" JOIN (SELECT {about} FROM {sessions}) ON id = session_id ORDER BY id"
    )
    for id, title, count, created, updated in connection.execute(query):
        latest = max(created or 0, updated or 0)
        yield Kept(str(id), f"{count}-{latest}-{title or ''}", latest / 1000)


def transcript(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    newer = "session_v2" in tables(connection)
    table = "session_v2" if newer else "session"
    wanted = columns(connection, table, "title", "directory", "parent_id")
    row = connection.execute(f"SELECT {wanted} FROM {table} WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    title, directory, parent = row
    session = SessionInfo(id, plain(directory, PATH_LENGTH), plain(title, TITLE_LENGTH).strip())
    steps = (_newer if newer else _older)(connection, session, skipped)
    return Transcript(tuple(turns_of(steps)), session), bool(parent)


def _newer(
    connection: sqlite3.Connection, session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    rows = connection.execute(
        "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?"
        " ORDER BY seq",
        (session.id,),
    )
    for at, (id, kind, created, text) in enumerate(rows):
        data = json_of(text, skipped)
        if kind == "user":
            yield from _asked(at, str(id), plain(data.get("text")), _setting(session, created))
        elif kind == "assistant":
            yield from _said(at, blocks_of(data.get("content")), _model(data))
        elif kind == "idle":
            yield Step("end" if data.get("outcome") == "succeeded" else "stopped", at)
        elif kind not in _NO_MATTER:
            skipped[f"record:{str(kind)[:40]}"] += 1


def _older(
    connection: sqlite3.Connection, session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    rows = connection.execute(
        "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id",
        (session.id,),
    )
    for at, (id, created, text) in enumerate(rows.fetchall()):
        data = json_of(text, skipped)
        parts = _parts(connection, id, skipped)
        if data.get("role") == "user":
            yield from _asked(at, str(id), _typed(parts), _setting(session, created))
        elif data.get("role") == "assistant":
            yield from _said(at, parts, _model(data))
            yield from _ended(at, data, parts)
        else:
            skipped[f"role:{plain(data.get('role'), 40) or 'none'}"] += 1


def _parts(
    connection: sqlite3.Connection, message: str, skipped: Counter[str]
) -> list[Mapping[str, Any]]:
    rows = connection.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (message,))
    parts = [json_of(text, skipped) for (text,) in rows]
    for each in parts:
        kind = plain(each.get("type"), 40)
        if kind not in _PARTS:
            skipped[f"part:{kind or 'untyped'}"] += 1
    return parts


def _typed(parts: list[Mapping[str, Any]]) -> str:
    """Return the text of a message; what a program put into it is marked as synthetic."""
    return "\n".join(
        plain(each.get("text"))
        for each in parts
        if each.get("type") == "text" and not each.get("synthetic") and not each.get("ignored")
    )


def _asked(at: int, id: str, text: str, setting: Setting) -> Iterable[Step]:
    if typed := authored(text):
        yield Step("prompt", at, typed, id, setting=setting)


def _said(at: int, blocks: list[Mapping[str, Any]], model: str) -> Iterable[Step]:
    for block in blocks:
        if block.get("type") == "tool":
            given = part(block, "state").get("input")
            uses = uses_of_call(block.get("tool") or block.get("name"), given)
            yield Step("tool", at, uses=uses)
        elif block.get("type") == "text" and (text := without_own(plain(block.get("text")))):
            yield Step("text", at, text, model=model)


def _ended(at: int, data: Mapping[str, Any], parts: list[Mapping[str, Any]]) -> Iterable[Step]:
    error = part(data, "error")
    if error:
        yield Step("stopped" if error.get("name") == "MessageAbortedError" else "failed", at)
    elif any(p.get("type") == "step-finish" and p.get("reason") == "stop" for p in parts):
        yield Step("end", at)


def _setting(session: SessionInfo, created: object) -> Setting:
    return Setting(session.id, session.cwd, "", time_of(created, 1000))


def _model(data: Mapping[str, Any]) -> str:
    inner = part(data, "model")
    return plain(data.get("modelID") or inner.get("modelID") or inner.get("id"), ID_LENGTH)
