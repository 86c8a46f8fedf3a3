"""Read Gemini CLI's chat files.

A line is a message or changes what was written before: a repeated id replaces the message, a rewind
takes it and all after it back. So a file is always read from its start. Older versions keep one
JSON object in a file, with the same messages.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.source.opening import follow_link, read_regular
from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    PATH_LENGTH,
    TITLE_LENGTH,
    Kind,
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
from irdaemon.types import SourceError

_MESSAGES = frozenset({"user", "gemini"})
_IGNORED = frozenset({"warning"})
_INJECTED = ("<session_context>", "<hook_context>")
_CANCELLED = "Request cancelled"


def recognise(path: str, record: Mapping[str, Any]) -> StreamKind | None:
    """Recognise a line of Gemini CLI; the first line tells whether it is a sub-agent's."""
    if "type" in record:
        is_ours = get_text(record, "type") in _MESSAGES and "id" in record and "content" in record
    else:
        is_ours = "sessionId" in record and ("projectHash" in record or "startTime" in record)
    inner: StreamKind = "subagent" if record.get("kind") == "subagent" else "session"
    return inner if is_ours else None


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a chat file into turns."""
    chat = _Chat()
    for line in reader.read_records():
        chat.add(line.record)
    return _fold_chat(chat, reader.skipped, start)


def read_whole(data: Mapping[str, Any], skipped: Counter[str], start: Start) -> Transcript:
    """Read a chat of the older format, one object, into turns."""
    chat = _Chat()
    chat.add({key: value for key, value in data.items() if key != "messages"})
    chat.add({"$set": {"messages": data.get("messages")}})
    return _fold_chat(chat, skipped, start)


@dataclass(slots=True)
class _Chat:
    """The messages that count, by id, as the lines come in."""

    id: str = ""
    title: str = ""
    messages: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        if "$rewindTo" in record:
            if (key := get_text(record, "$rewindTo")) in self.messages:
                keys = list(self.messages)
                for each in keys[keys.index(key) :]:
                    del self.messages[each]
        elif isinstance(fields := record.get("$set"), dict):
            self._describe(fields)
            if isinstance(fields.get("messages"), list):
                self.messages = {}
                for message in list_blocks(fields["messages"]):
                    self._add_message(message)
        elif "type" in record:
            self._add_message(record)
        else:
            self._describe(record)

    def _add_message(self, message: Mapping[str, Any]) -> None:
        self.messages[get_text(message, "id") or f"#{len(self.messages)}"] = message

    def _describe(self, fields: Mapping[str, Any]) -> None:
        self.id = get_text(fields, "sessionId") or self.id
        self.title = get_text(fields, "summary", TITLE_LENGTH).strip() or self.title


def _fold_chat(chat: _Chat, skipped: Counter[str], start: Start) -> Transcript:
    session = replace(start.session, id=chat.id, cwd=_find_cwd(start.path), ai_title=chat.title)
    log = SessionLog(session, skipped)
    for at, (key, message) in enumerate(chat.messages.items()):
        kind = get_text(message, "type", 40)
        if kind == "user":
            _add_prompt(log, at, key, message)
        elif kind == "gemini":
            log.say(at, _join_content(message, "content"), message.get("model"))
            calls = list_blocks(message.get("toolCalls"))
            log.call(at, calls, "args")
            for call in calls:
                _add_result(log, at, call)
        elif kind == "error":
            log.mark("failed", at)
        elif kind == "info":
            if _CANCELLED in _join_content(message, "content"):
                log.mark("stopped", at)
        elif kind not in _IGNORED:
            skipped[f"record:{kind or 'untyped'}"] += 1
    # Nothing marks the end.
    return log.fold(assume_end=log.ends_with_text)


def _add_prompt(log: SessionLog, at: int, key: str, message: Mapping[str, Any]) -> None:
    # The displayed text is the typed one; the content has files pasted into it.
    shown = _join_content(message, "displayContent") or _join_content(message, "content")
    text = strip_injected(shown)
    if not text.startswith(_INJECTED):
        kind: Kind = "other" if text.startswith(("/", "?")) else "prompt"
        log.ask(at, key, text, get_text(message, "timestamp"), kind)


_EXIT_CODE = re.compile(r"^Exit Code: ([1-9]\d*)$", re.M)


def _add_result(log: SessionLog, at: int, call: Mapping[str, Any]) -> None:
    """Add the result of a call; a command that failed is a success with an exit code."""
    answers = [
        get_object(get_object(each, "functionResponse"), "response")
        for each in list_blocks(call.get("result"))
    ]
    text = "\n".join(clean_text(each.get("error") or each.get("output")) for each in answers)
    status = call.get("status")
    failed = status == "error" or _EXIT_CODE.search(text) is not None
    log.add_result(at, call.get("id"), failed, text, refused=status == "cancelled")


def _join_content(message: Mapping[str, Any], key: str) -> str:
    """Return a content as text: a string, or a list of strings and parts with texts."""
    content = message.get(key)
    pieces = content if isinstance(content, list) else [content]
    texts = [clean_text(p.get("text")) if isinstance(p, dict) else clean_text(p) for p in pieces]
    return "\n".join(filter(None, texts))


def _find_cwd(path: str) -> str:
    """Return the directory of a chat's project, "" when nothing beside the chat names it."""
    project, inside, _ = path.partition("/chats/")
    if not inside:
        return ""
    try:
        root = read_regular(follow_link(os.path.join(project, ".project_root")), PATH_LENGTH)
        return root.decode("utf-8", "replace").strip()
    except (FileNotFoundError, SourceError):
        return _find_listed(project)


def _find_listed(project: str) -> str:
    try:
        above = os.path.dirname(os.path.dirname(project))
        known = json.loads(read_regular(follow_link(f"{above}/projects.json"), 1_000_000))
    except (FileNotFoundError, SourceError, ValueError, RecursionError):
        return ""
    inner = known.get("projects", known) if isinstance(known, dict) else {}
    pairs = inner.items() if isinstance(inner, dict) else ()
    name = os.path.basename(project)
    return next((cwd for cwd, id in pairs if id == name), "")
