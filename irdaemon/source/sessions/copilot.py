"""Read Copilot CLI's event files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from irdaemon.source.sessions.item_uses import read_call
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    Line,
    LineReader,
    SessionInfo,
    Setting,
    Start,
    Step,
    Transcript,
    clean_text,
    fold_turns,
    get_object,
    list_blocks,
    strip_injected,
    strip_own,
)

_FAMILIES = frozenset({"session", "user", "assistant", "tool", "hook", "system", "subagent"})
_ABORTED = frozenset({"abort", "session.abort"})
_ENDED = frozenset({"session.idle", "session.shutdown", "session.task_complete"})


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is Copilot CLI's, by its structure."""
    family, dot, _ = clean_text(record.get("type"), 80).partition(".")
    return bool(dot) and family in _FAMILIES and isinstance(record.get("data"), dict)


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Say no: what sub-agents do stands in the events of the session that started them."""
    return False


def transcript(reader: LineReader, start: Start) -> Transcript:
    """Read an event file into turns."""
    session, branch = start.session, ""
    steps: list[Step] = []
    for line in reader.records():
        kind = clean_text(line.record.get("type"), 80)
        if kind in ("session.start", "session.resume"):
            session, branch = _described(session, branch, get_object(line.record, "data"))
        elif kind == "user.message":
            steps += _asked(line, session, branch)
        elif get_object(line.record, "data").get("parentToolCallId"):
            reader.skipped["sidechain"] += 1
        elif not _is_known(kind):
            reader.skipped[f"record:{kind[:40] or 'untyped'}"] += 1
        else:
            steps += _happened(line, kind)
    # A turn's end is often not written; but after a tool call more is to come.
    done = bool(steps) and steps[-1].kind == "text"
    return Transcript(tuple(fold_turns(steps, assume_end=done)), session)


def _described(
    session: SessionInfo, branch: str, data: Mapping[str, Any]
) -> tuple[SessionInfo, str]:
    context = get_object(data, "context")
    id = clean_text(data.get("sessionId"), ID_LENGTH) or session.id
    cwd = clean_text(context.get("cwd"), PATH_LENGTH) or session.cwd
    return replace(session, id=id, cwd=cwd), clean_text(context.get("branch"), ID_LENGTH) or branch


def _is_known(kind: str) -> bool:
    return kind in _ABORTED or kind.partition(".")[0] in _FAMILIES


def _asked(line: Line, session: SessionInfo, branch: str) -> Iterable[Step]:
    # `transformedContent` beside it holds what was injected.
    text = strip_injected(clean_text(get_object(line.record, "data").get("content")))
    if text:
        key = clean_text(line.record.get("id"), ID_LENGTH) or str(line.offset)
        when = clean_text(line.record.get("timestamp"), ID_LENGTH)
        setting = Setting(session.id, session.cwd, branch, when)
        yield Step("prompt", line.offset, text, key, setting=setting)


def _happened(line: Line, kind: str) -> Iterable[Step]:
    if kind == "assistant.message":
        yield from _answered(line)
    elif kind in _ABORTED:
        yield Step("stopped", line.offset)
    elif kind == "session.error":
        yield Step("failed", line.offset)
    elif kind in _ENDED:
        yield Step("end", line.offset)


def _answered(line: Line) -> Iterable[Step]:
    data = get_object(line.record, "data")
    if text := strip_own(clean_text(data.get("content"))):
        yield Step("text", line.offset, text, model=clean_text(data.get("model"), ID_LENGTH))
    if calls := data.get("toolRequests"):
        uses = (read_call(call.get("name"), call.get("arguments")) for call in list_blocks(calls))
        yield Step("tool", line.offset, uses=tuple(chain.from_iterable(uses)))
