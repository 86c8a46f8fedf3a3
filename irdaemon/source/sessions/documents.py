"""Session files that are one document: Aider's history, and chats of older Gemini CLIs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from irdaemon.source.frontmatter import decode
from irdaemon.source.opening import read_regular
from irdaemon.source.sessions import aider, gemini
from irdaemon.source.sessions.artifacts import Stream, artifacts_of, dropped, session_turns
from irdaemon.source.sessions.lines import TooManyValues, bounded_json
from irdaemon.source.sessions.transcript import SessionFilter, Start, Transcript
from irdaemon.source.tree import home_relative
from irdaemon.types import Entry, Reading, SourceError

_LIMIT = 64 * 1024 * 1024
_CHATS = "/chats/session-"


def is_document(path: str) -> bool:
    """Return whether a file's name is that of sessions in one document."""
    if os.path.basename(path) == aider.FILE_NAME:
        return True
    return path.endswith(".json") and _CHATS in path


def read_document(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read the sessions of a document. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    text, _ = decode(read_regular(entry.path, _LIMIT))
    if os.path.basename(entry.path) == aider.FILE_NAME:
        return _reading(entry, "aider", _history(entry, text), wanted, skipped)
    chat = _object(entry.path, text)
    if not gemini.recognises(chat):
        return Reading((), skipped={"unrecognised": 1})
    if gemini.is_subagent(entry.path, chat) and not wanted.subagents:
        return Reading((), skipped={"subagent": 1})
    read = gemini.whole(chat, skipped, Start(path=entry.path))
    return _reading(entry, "gemini", read, wanted, skipped)


def _history(entry: Entry, text: str) -> Transcript:
    directory = os.path.dirname(entry.path)
    return aider.transcript(text, directory, home_relative(directory))


def _reading(
    entry: Entry, agent: str, read: Transcript, wanted: SessionFilter, skipped: Counter[str]
) -> Reading:
    stream = Stream(entry.path, entry.scope, agent)
    made = {a.artifact_id: a for a in artifacts_of(stream, read, wanted.titles)}
    skipped.update(dropped(read))
    turns = session_turns(stream, read)
    return Reading(tuple(made.values()), skipped=dict(skipped), turns=turns)


def _object(path: str, text: str) -> Mapping[str, Any]:
    try:
        value = bounded_json(text)
    except TooManyValues as error:
        raise SourceError(
            f"{path}: its JSON states {error}", "leave it out of the corpus"
        ) from error
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
