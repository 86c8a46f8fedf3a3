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
from irdaemon.source.sessions.calls import ResultState
from irdaemon.source.sessions.log import SessionLog
from irdaemon.source.sessions.transcript import (
    ID_LENGTH,
    PATH_LENGTH,
    TITLE_LENGTH,
    Kind,
    LineReader,
    Start,
    Transcript,
    clean_text,
    get_object,
    list_blocks,
    strip_injected,
)
from irdaemon.types import SourceError

_MESSAGES = frozenset({"user", "gemini"})
_NO_MATTER = frozenset({"warning"})
_INJECTED = ("<session_context>", "<hook_context>")
_CANCELLED = "Request cancelled"


def recognises(record: Mapping[str, Any]) -> bool:
    """Return whether a line is Gemini CLI's, by its structure."""
    if "type" in record:
        return clean_text(record["type"]) in _MESSAGES and "id" in record and "content" in record
    return "sessionId" in record and ("projectHash" in record or "startTime" in record)


def is_subagent(path: str, record: Mapping[str, Any]) -> bool:
    """Return whether a file is a sub-agent's, by its first line."""
    return record.get("kind") == "subagent"


def read_transcript(reader: LineReader, start: Start) -> Transcript:
    """Read a chat file into turns."""
    chat = _Chat()
    for line in reader.records():
        chat.take(line.record)
    return _fold_chat(chat, reader.skipped, start)


def read_whole(data: Mapping[str, Any], skipped: Counter[str], start: Start) -> Transcript:
    """Read a chat of the older format, one object, into turns."""
    chat = _Chat()
    chat.take({key: value for key, value in data.items() if key != "messages"})
    chat.take({"$set": {"messages": data.get("messages")}})
    return _fold_chat(chat, skipped, start)


@dataclass(slots=True)
class _Chat:
    """The messages that count, by id, as the lines come in."""

    id: str = ""
    title: str = ""
    messages: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def take(self, record: Mapping[str, Any]) -> None:
        if "$rewindTo" in record:
            self._rewind(clean_text(record["$rewindTo"], ID_LENGTH))
        elif isinstance(record.get("$set"), dict):
            self._set(record["$set"])
        elif "type" in record:
            self._keep(record)
        else:
            self._describe(record)

    def _keep(self, message: Mapping[str, Any]) -> None:
        key = clean_text(message.get("id"), ID_LENGTH) or f"#{len(self.messages)}"
        self.messages[key] = message

    def _rewind(self, key: str) -> None:
        keys = list(self.messages)
        if key in self.messages:
            for each in keys[keys.index(key) :]:
                del self.messages[each]

    def _set(self, fields: Mapping[str, Any]) -> None:
        self._describe(fields)
        if isinstance(fields.get("messages"), list):
            self.messages = {}
            for message in fields["messages"]:
                if isinstance(message, dict):
                    self._keep(message)

    def _describe(self, fields: Mapping[str, Any]) -> None:
        self.id = clean_text(fields.get("sessionId"), ID_LENGTH) or self.id
        self.title = clean_text(fields.get("summary"), TITLE_LENGTH).strip() or self.title


def _fold_chat(chat: _Chat, skipped: Counter[str], start: Start) -> Transcript:
    session = replace(start.session, id=chat.id, cwd=_find_cwd(start.path), ai_title=chat.title)
    log = SessionLog(session, skipped)
    for at, (key, message) in enumerate(chat.messages.items()):
        kind = clean_text(message.get("type"), 40)
        if kind == "user":
            _add_prompt(log, at, key, message)
        elif kind == "gemini":
            log.say(at, _join_content(message, "content"), message.get("model"))
            calls = list_blocks(message.get("toolCalls"))
            log.call(at, calls, "args")
            for call in calls:
                log.add_result(at, call.get("id"), *_read_result(call))
        elif kind == "error":
            log.mark("failed", at)
        elif kind == "info":
            if _CANCELLED in _join_content(message, "content"):
                log.mark("stopped", at)
        elif kind not in _NO_MATTER:
            skipped[f"record:{kind or 'untyped'}"] += 1
    # Nothing marks the end.
    return log.fold(assume_end=log.ends_with_text)


def _add_prompt(log: SessionLog, at: int, key: str, message: Mapping[str, Any]) -> None:
    # What was shown is what was typed; the content has files pasted into it.
    shown = _join_content(message, "displayContent") or _join_content(message, "content")
    text = strip_injected(shown)
    if not text.startswith(_INJECTED):
        kind: Kind = "other" if text.startswith(("/", "?")) else "prompt"
        log.ask(at, key, text, clean_text(message.get("timestamp"), ID_LENGTH), kind)


_STATES: Mapping[str, ResultState] = {"error": "failed", "cancelled": "refused"}
_GEMINI_EXIT = re.compile(r"^Exit Code: ([1-9]\d*)$", re.M)


def _read_result(call: Mapping[str, Any]) -> tuple[ResultState, str]:
    """Return what came of a call; a command that failed is a success with an exit code."""
    answers = [
        get_object(get_object(each, "functionResponse"), "response")
        for each in list_blocks(call.get("result"))
    ]
    text = "\n".join(clean_text(each.get("error") or each.get("output")) for each in answers)
    state = _STATES.get(clean_text(call.get("status"), 40), "done")
    return "failed" if state == "done" and _GEMINI_EXIT.search(text) else state, text


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
