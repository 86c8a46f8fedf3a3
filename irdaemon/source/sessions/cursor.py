"""Read the agent transcripts of the Cursor editor: messages without ids or times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    LineReader,
    Start,
    StreamKind,
    Transcript,
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
