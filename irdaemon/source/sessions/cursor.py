"""Read the agent transcripts of the Cursor editor: messages without ids or times."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from irdaemon.source.sessions.database import StoredSession, format_time, parse_column
from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    TITLE_LENGTH,
    LineReader,
    SessionInfo,
    Start,
    StreamKind,
    Transcript,
    clean_text,
    get_object,
    get_text,
    join_texts,
    list_blocks,
    strip_injected,
)

_ROLES = frozenset({"user", "assistant"})
_TURN_ENDED = "turn_ended"
_OPEN, _CLOSE = "<user_query>", "</user_query>"


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise a line of Cursor; its path tells whether a file is a sub-agent's."""
    if get_text(record, "role") not in _ROLES or "content" not in get_object(record, "message"):
        return None
    return "subagent" if "/subagents/" in path else "session"


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a transcript into turns; a turn goes by the number of its prompt."""
    log = SessionLog(start.session, reader.skipped)
    prompts = 0
    for line in reader.read_records():
        record = line.record
        role = get_text(record, "role", 40) or get_text(record, "type", 40)
        content = get_object(record, "message").get("content")
        if role == "user":
            text = find_query(join_texts(content))
            prompts += bool(text)
            log.ask(line.offset, str(prompts), text)
        elif role == "assistant":
            log.say(line.offset, join_texts(content))
            calls = [block for block in list_blocks(content) if block.get("type") == "tool_use"]
            log.call(line.offset, calls, "input")
        elif role == _TURN_ENDED:
            log.mark("end", line.offset)
        else:
            reader.skipped[f"record:{role or 'untyped'}"] += 1
    # Older versions do not mark ends.
    unmarked = not any(step.kind == "end" for step in log.steps)
    return log.fold(assume_end=unmarked and log.ends_with_text)


def find_query(text: str) -> str:
    """Return the typed part of a message, which Cursor wraps in context."""
    _, opened, rest = text.partition(_OPEN)
    inner, closed, _ = rest.rpartition(_CLOSE)
    return strip_injected(inner if opened and closed else text)


# Read the chats in the Cursor editor's database: a table of keys and JSON values.
#
# It can hold gigabytes, so only ranges of keys are asked for, and values one chat at a time.

FILE_NAME = "state.vscdb"
TABLE = "cursorDiskKV"
_CHAT, _BUBBLE = "composerData:", "bubbleId:"
_PERSON, _AGENT = 1, 2
_AT_WORK = "generating"


def list_chats(connection: sqlite3.Connection) -> Iterator[StoredSession]:
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


def read_chat(
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
