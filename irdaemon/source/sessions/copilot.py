"""Read Copilot CLI's event files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    PATH_LENGTH,
    LineReader,
    Start,
    StreamKind,
    Transcript,
    clean_text,
    get_object,
    get_text,
    list_blocks,
    strip_injected,
)

_FAMILIES = frozenset({"session", "user", "assistant", "tool", "hook", "system", "subagent"})
_MARKS: Mapping[str, Any] = {
    **dict.fromkeys(("abort", "session.abort"), "stopped"),
    **dict.fromkeys(("session.idle", "session.shutdown", "session.task_complete"), "end"),
    "session.error": "failed",
}


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise a line of Copilot CLI; sub-agents have no files of their own."""
    family, dot, _ = get_text(record, "type").partition(".")
    is_ours = dot and family in _FAMILIES and isinstance(record.get("data"), dict)
    return "session" if is_ours else None


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read an event file into turns."""
    log = SessionLog(start.session, reader.skipped)
    for line in reader.read_records():
        at, kind, data = line.offset, get_text(line.record, "type"), get_object(line.record, "data")
        if kind in ("session.start", "session.resume"):
            _describe(log, data)
        elif kind == "user.message":
            key, when = get_text(line.record, "id") or str(at), get_text(line.record, "timestamp")
            # `transformedContent` beside it holds the injected context, too.
            log.ask(at, key, strip_injected(clean_text(data.get("content"))), when)
        elif data.get("parentToolCallId"):
            reader.skipped["sidechain"] += 1
        elif kind == "assistant.message":
            log.say(at, data.get("content"), data.get("model"))
            log.call(at, list_blocks(data.get("toolRequests")), "arguments", "toolCallId")
        elif kind == "tool.execution_complete":
            result, error = get_object(data, "result"), get_object(data, "error")
            text = result.get("content") or error.get("message")
            log.add_result(at, data.get("toolCallId"), data.get("success") is False, text)
        elif kind in _MARKS:
            log.mark(_MARKS[kind], at)
        elif kind.partition(".")[0] not in _FAMILIES:
            reader.skipped[f"record:{kind[:40] or 'untyped'}"] += 1
    # The end of a turn is often not written.
    return log.fold(assume_end=log.ends_with_text)


def _describe(log: SessionLog, data: Mapping[str, Any]) -> None:
    context = get_object(data, "context")
    log.session = replace(
        log.session,
        id=get_text(data, "sessionId") or log.session.id,
        cwd=get_text(context, "cwd", PATH_LENGTH) or log.session.cwd,
    )
    log.branch = get_text(context, "branch") or log.branch
