"""Read Goose's database."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from irdaemon.source.sessions.blocks import authored, without_own
from irdaemon.source.sessions.cursor import SessionInfo
from irdaemon.source.sessions.database import Kept, columns, time_of
from irdaemon.source.sessions.item_uses import uses_of_call
from irdaemon.source.sessions.lines import PATH_LENGTH, TITLE_LENGTH, bounded_json, part, plain
from irdaemon.source.sessions.pairing import Setting, Step, turns_of
from irdaemon.source.sessions.prompt import blocks_of
from irdaemon.source.sessions.transcript import Transcript

_ITEMS = frozenset(
    {
        "text", "image", "toolRequest", "toolResponse", "thinking", "redactedThinking",
        "frontendToolRequest", "toolConfirmationRequest", "systemNotification", "actionRequired",
        "contextLengthExceeded", "summarizationRequested",
    }
)  # fmt: skip
_CALLS = frozenset({"toolRequest", "frontendToolRequest"})
# What Goose itself says under the agent's name once a person has interrupted it.
_INTERRUPTED = "was interrupted. How would you like to proceed?"


def recognises(names: frozenset[str]) -> bool:
    """Return whether a database is Goose's, by its tables."""
    return {"sessions", "messages"} <= names


def kept(connection: sqlite3.Connection) -> Iterator[Kept]:
    """Yield every session that has messages."""
    about = columns(connection, "sessions", "id", "name", "updated_at")
    query = (
        "SELECT id, name, n, latest, updated_at FROM (SELECT session_id, count(*) n, max(rowid)"
        f" latest FROM messages GROUP BY session_id) JOIN (SELECT {about} FROM sessions)"
        " ON id = session_id ORDER BY id"
    )
    for id, name, count, latest, updated in connection.execute(query):
        yield Kept(str(id), f"{count}-{latest}-{updated}-{name or ''}")


def transcript(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a session, and return whether an agent started it; None where it is gone."""
    wanted = columns(connection, "sessions", "name", "description", "working_dir", "session_type")
    row = connection.execute(f"SELECT {wanted} FROM sessions WHERE id = ?", (id,)).fetchone()
    if row is None:
        return None
    name, description, cwd, kind = row
    title = plain(description or name, TITLE_LENGTH).strip()
    session = SessionInfo(id, plain(cwd, PATH_LENGTH), title)
    steps = list(_steps(connection, session, skipped))
    # Nothing marks the end; but after a tool call more is to come.
    done = bool(steps) and steps[-1].kind == "text"
    turns = turns_of(steps, assume_end=done)
    return Transcript(tuple(turns), session), kind == "sub_agent"


def _steps(
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
            yield from _asked(row, items, session, time_of(created, 1))
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
    text = authored("\n".join(plain(i.get("text")) for i in items if i.get("type") == "text"))
    if text:
        setting = Setting(session.id, session.cwd, "", when)
        yield Step("prompt", row, text, str(row), setting=setting)


def _said(row: int, items: list[Mapping[str, Any]]) -> Iterable[Step]:
    for item in items:
        if plain(item.get("type")) in _CALLS:
            call = part(part(item, "toolCall"), "value")
            uses = uses_of_call(call.get("name"), call.get("arguments"))
            yield Step("tool", row, uses=uses)
        elif item.get("type") == "text" and (text := without_own(plain(item.get("text")))):
            stopped = text.startswith("The ") and text.endswith(_INTERRUPTED)
            yield Step("stopped", row) if stopped else Step("text", row, text)


def _items(text: object, skipped: Counter[str]) -> list[Mapping[str, Any]]:
    try:
        value = bounded_json(text) if isinstance(text, (str, bytes)) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        skipped["bad_row"] += 1
    items = blocks_of(value)
    for item in items:
        kind = plain(item.get("type"), 40)
        if kind not in _ITEMS:
            skipped[f"part:{kind or 'untyped'}"] += 1
    return items
