"""Read the chats in the Cursor editor's database: a table of keys and JSON values.

It can hold gigabytes, so only ranges of keys are asked for, and values one chat at a time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from irdaemon.source.sessions.blocks import without_own
from irdaemon.source.sessions.cursor import SessionInfo
from irdaemon.source.sessions.cursor_chat import query
from irdaemon.source.sessions.database import Kept, json_of, time_of
from irdaemon.source.sessions.item_uses import uses_of_call
from irdaemon.source.sessions.lines import ID_LENGTH, TITLE_LENGTH, part, plain
from irdaemon.source.sessions.pairing import Setting, Step, turns_of
from irdaemon.source.sessions.prompt import blocks_of
from irdaemon.source.sessions.transcript import Transcript

FILE_NAME = "state.vscdb"
_CHAT, _BUBBLE = "composerData:", "bubbleId:"
_PERSON, _AGENT = 1, 2
_AT_WORK = "generating"


def recognises(names: frozenset[str]) -> bool:
    """Return whether a database is Cursor's, by its tables."""
    return "cursorDiskKV" in names


def kept(connection: sqlite3.Connection) -> Iterator[Kept]:
    """Yield every chat that has messages."""
    bubbles = Counter(key.split(":")[1] for (key,) in _keys(connection, _BUBBLE))
    rows = connection.execute(
        "SELECT key, CASE WHEN json_valid(text) THEN json_extract(text, '$.lastUpdatedAt') END,"
        " CASE WHEN json_valid(text) THEN json_extract(text, '$.status') END,"
        " CASE WHEN json_valid(text) THEN json_array_length(text, '$.conversation') END"
        " FROM (SELECT key, CAST(value AS TEXT) text FROM cursorDiskKV"
        " WHERE key >= ? AND key < ?) ORDER BY key",
        _range(_CHAT),
    )
    for key, updated, status, inline in rows:
        id = key.removeprefix(_CHAT)
        if count := bubbles[id] + (inline or 0):
            seconds = updated / 1000 if isinstance(updated, (int, float)) else 0.0
            yield Kept(id, f"{count}-{updated}-{status}", seconds)


def transcript(
    connection: sqlite3.Connection, id: str, skipped: Counter[str]
) -> tuple[Transcript, bool] | None:
    """Read a chat, and return whether an agent started it; None where it is gone."""
    row = connection.execute(
        "SELECT value FROM cursorDiskKV WHERE key = ?", (_CHAT + id,)
    ).fetchone()
    if row is None:
        return None
    chat = json_of(row[0], skipped)
    session = SessionInfo(id, custom_title=plain(chat.get("name"), TITLE_LENGTH).strip())
    steps = list(_steps(_bubbles(connection, id, chat, skipped), session, skipped))
    if chat.get("status") == "aborted":
        steps.append(Step("stopped", len(steps)))
    # Nothing marks the end of a turn; but after a tool call more is to come.
    done = bool(steps) and steps[-1].kind == "text" and chat.get("status") != _AT_WORK
    turns = turns_of(steps, assume_end=done)
    return Transcript(tuple(turns), session), bool(chat.get("subagentInfo"))


def _bubbles(
    connection: sqlite3.Connection, id: str, chat: Mapping[str, Any], skipped: Counter[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the messages of a chat in its order; older versions keep them within the chat."""
    if inline := blocks_of(chat.get("conversation")):
        return [(plain(each.get("bubbleId"), ID_LENGTH), each) for each in inline]
    prefix = f"{_BUBBLE}{id}:"
    rows = connection.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key",
        _range(prefix),
    )
    found = {key.removeprefix(prefix): json_of(value, skipped) for key, value in rows}
    headers = blocks_of(chat.get("fullConversationHeadersOnly"))
    order = [plain(header.get("bubbleId"), ID_LENGTH) for header in headers]
    return [(each, found[each]) for each in order if each in found]


def _steps(
    bubbles: list[tuple[str, Mapping[str, Any]]], session: SessionInfo, skipped: Counter[str]
) -> Iterable[Step]:
    for at, (id, bubble) in enumerate(bubbles):
        kind, text = bubble.get("type"), plain(bubble.get("text"))
        if kind == _PERSON and (typed := query(text)):
            setting = Setting(session.id, timestamp=time_of(bubble.get("createdAt"), 1000))
            yield Step("prompt", at, typed, id or str(at), setting=setting)
        elif kind == _AGENT:
            if answer := without_own(text):
                model = plain(part(bubble, "modelInfo").get("modelName"), ID_LENGTH)
                yield Step("text", at, answer, model=model)
            if call := part(bubble, "toolFormerData"):
                given = call.get("rawArgs") or call.get("params")
                yield Step("tool", at, uses=uses_of_call(call.get("name"), given))
        elif kind != _PERSON:
            skipped[f"record:{str(kind)[:40]}"] += 1


def _keys(connection: sqlite3.Connection, prefix: str) -> Iterable[tuple[str]]:
    query = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ?"
    return connection.execute(query, _range(prefix))


def _range(prefix: str) -> tuple[str, str]:
    """Return the bounds between which all keys with a prefix lie."""
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)
