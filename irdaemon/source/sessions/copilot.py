"""Read Copilot CLI's event files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    LineReader,
    Start,
    Transcript,
    clean_text,
    get_object,
    list_blocks,
    strip_injected,
)

_FAMILIES = frozenset({"session", "user", "assistant", "tool", "hook", "system", "subagent"})
_MARKS: Mapping[str, Any] = {
    **dict.fromkeys(("abort", "session.abort"), "stopped"),
    **dict.fromkeys(("session.idle", "session.shutdown", "session.task_complete"), "end"),
    "session.error": "failed",
}


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is Copilot CLI's, by its structure."""
    family, dot, _ = clean_text(record.get("type"), 80).partition(".")
    return bool(dot) and family in _FAMILIES and isinstance(record.get("data"), dict)


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return false: what sub-agents do is in the events of the session that started them."""
    return False


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read an event file into turns."""
    log = SessionLog(start.session, reader.skipped)
    for line in reader.records():
        kind, data = clean_text(line.record.get("type"), 80), get_object(line.record, "data")
        if kind in ("session.start", "session.resume"):
            _describe(log, data)
        elif kind == "user.message":
            key = clean_text(line.record.get("id"), ID_LENGTH) or str(line.offset)
            when = clean_text(line.record.get("timestamp"), ID_LENGTH)
            # `transformedContent` beside it holds what was injected.
            log.ask(line.offset, key, strip_injected(clean_text(data.get("content"))), when)
        elif data.get("parentToolCallId"):
            reader.skipped["sidechain"] += 1
        elif kind == "assistant.message":
            log.say(line.offset, data.get("content"), data.get("model"))
            log.call(line.offset, list_blocks(data.get("toolRequests")), "arguments", "toolCallId")
        elif kind == "tool.execution_complete":
            content = get_object(data, "result").get("content")
            error = get_object(data, "error").get("message")
            failed = data.get("success") is False
            text = content or error
            log.add_result(
                line.offset, data.get("toolCallId"), "failed" if failed else "done", text
            )
        elif kind in _MARKS:
            log.mark(_MARKS[kind], line.offset)
        elif kind.partition(".")[0] not in _FAMILIES:
            reader.skipped[f"record:{kind[:40] or 'untyped'}"] += 1
    # The end of a turn is often not written.
    return log.fold(assume_end=log.ends_with_text)


def _describe(log: SessionLog, data: Mapping[str, Any]) -> None:
    context = get_object(data, "context")
    log.session = replace(
        log.session,
        id=clean_text(data.get("sessionId"), ID_LENGTH) or log.session.id,
        cwd=clean_text(context.get("cwd"), PATH_LENGTH) or log.session.cwd,
    )
    log.branch = clean_text(context.get("branch"), ID_LENGTH) or log.branch
