"""Read one session file of JSON lines: from where the last read left it, or from the start.

A tail is used only when it surely gives what reading the whole file would: the file is the same and
has grown, the last known turn still stands where it stood, the branch that counts still passes
through it, its pair is still one, and nothing that holds for the whole session has changed.
Otherwise, as after a rewind or a new title, the whole file is read again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO, Protocol

from irdaemon.source.frontmatter import decode
from irdaemon.source.opening import open_regular, read_regular
from irdaemon.source.sessions import aider, claude, codex, copilot, cursor, gemini, pi
from irdaemon.source.sessions.artifacts import Stream, make_reading, make_turn_id
from irdaemon.source.sessions.transcript import (
    Cursor,
    LineReader,
    SessionFilter,
    Start,
    StreamKind,
    TooManyValues,
    Transcript,
    digest_line,
    pack_cursor,
    parse_bounded_json,
    unpack_cursor,
)
from irdaemon.source.tree import shorten_path
from irdaemon.types import Entry, Reading, SourceError

# Whatever an agent writes first, one of the first lines has its structure.
_SNIFFED_LINES = 64


class Dialect(Protocol):
    """A module that reads the session files of one agent."""

    def recognise(self, path: str, record: Mapping[str, Any]) -> StreamKind | None:
        """Return the kind of a file by a line of this agent, None for a line of another."""

    def read_transcript(self, reader: LineReader, start: Start) -> Transcript:
        """Read a file, or its tail, into turns."""


DIALECTS: dict[str, Dialect] = {
    "claude": claude,
    "codex": codex,
    "copilot": copilot,
    "pi": pi,
    "gemini": gemini,
    "cursor": cursor,
}


def read_session(entry: Entry, blob: bytes | None, wanted: SessionFilter) -> Reading:
    """Read a session file. Raises FileNotFoundError or SourceError."""
    with open_regular(entry.path) as file:
        try:
            reader = _SessionReader(entry, file, wanted)
            cursor = unpack_cursor(blob)
            return (reader.read_tail(cursor) if cursor else None) or reader.read_whole()
        except OSError as error:
            raise SourceError(f"{entry.path}: {error.strerror}", "check the disk") from error


@dataclass(frozen=True, slots=True)
class _SessionReader:
    entry: Entry
    file: BinaryIO
    wanted: SessionFilter

    def read_whole(self) -> Reading:
        """Read a file from its start."""
        sniffed = LineReader(self.file, limit=self.wanted.line_bytes)
        stream = self._recognise(sniffed)
        if stream is None:
            sniffed.skipped.update({"unrecognised": 1} if sniffed.end else {})
            return Reading((), skipped=sniffed.skipped)
        if stream.kind == "subagent" and not self.wanted.subagents:
            return Reading((), skipped={"subagent": 1})
        reader = LineReader(self.file, limit=self.wanted.line_bytes)
        start = Start(is_subagent=stream.kind == "subagent", path=stream.path)
        read = DIALECTS[stream.agent].read_transcript(reader, start)
        return self._make_reading(stream, reader, read, partial=False)

    def _recognise(self, sniffed: LineReader) -> Stream | None:
        path, scope = self.entry.path, self.entry.scope
        for line in islice(sniffed.records(), _SNIFFED_LINES):
            for name, dialect in DIALECTS.items():
                if kind := dialect.recognise(path, line.record):
                    return Stream(path, scope, name, kind)
        return None

    def read_tail(self, cursor: Cursor) -> Reading | None:
        """Read from the last known turn on; None when the whole file must be read."""
        if not self._stands(cursor):
            return None
        stream = Stream(self.entry.path, self.entry.scope, cursor.agent, cursor.kind)
        reader = LineReader(self.file, cursor.resume, self.wanted.line_bytes)
        is_inner = stream.kind == "subagent"
        start = Start(True, is_inner, cursor.session, cursor.place, stream.path)
        read = DIALECTS[stream.agent].read_transcript(reader, start)
        if not read.holds or _describe(read) != _describe(cursor):
            return None
        reading = self._make_reading(stream, reader, read, partial=True)
        given = {artifact.artifact_id for artifact in reading.artifacts}
        return reading if not cursor.emitted or cursor.emitted in given else None

    def _stands(self, cursor: Cursor) -> bool:
        """Return whether the last known turn is still at the offset of the cursor."""
        if cursor.kind == "subagent" and not self.wanted.subagents:
            return False
        if cursor.agent not in DIALECTS or not cursor.is_same_file(os.fstat(self.file.fileno())):
            return False
        return cursor.resume > 0 and self._digest_line(cursor.resume) == cursor.digest

    def _digest_line(self, offset: int) -> bytes:
        self.file.seek(offset)
        return digest_line(self.file.readline(self.wanted.line_bytes + 1))

    def _make_reading(
        self, stream: Stream, reader: LineReader, read: Transcript, *, partial: bool
    ) -> Reading:
        titles = self.wanted.titles and not partial
        reading = make_reading(stream, read, titles, reader.skipped)
        status = os.fstat(self.file.fileno())
        last = make_turn_id(stream, read.session, read.turns[-1]) if read.turns else ""
        cursor = Cursor(
            agent=stream.agent,
            kind=stream.kind,
            device=status.st_dev,
            inode=status.st_ino,
            end=reader.end,
            resume=read.resume,
            digest=self._digest_line(read.resume) if read.resume else b"",
            emitted=last if any(a.artifact_id == last for a in reading.artifacts) else "",
            session=read.session,
            place=read.place,
        )
        return replace(reading, cursor=pack_cursor(cursor), partial=partial)


def _describe(read: Transcript | Cursor) -> tuple[str, str, str]:
    """Return the facts that every artifact of a session repeats."""
    return read.session.id, read.session.cwd, read.session.title


# Session files that are one document: Aider's history, and chats of older Gemini CLIs.

_DOCUMENT_LIMIT = 64 * 1024 * 1024
_CHATS = "/chats/session-"


def is_document(path: str) -> bool:
    """Return whether a file's name is that of sessions in one document."""
    is_chat = path.endswith(".json") and _CHATS in path
    return is_chat or os.path.basename(path) == aider.FILE_NAME


def read_document(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read the sessions of a document. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    text, _ = decode(read_regular(entry.path, _DOCUMENT_LIMIT))
    if os.path.basename(entry.path) == aider.FILE_NAME:
        directory = os.path.dirname(entry.path)
        read = aider.read_transcript(text, directory, shorten_path(directory))
        return make_reading(Stream(entry.path, entry.scope, "aider"), read, wanted.titles, skipped)
    chat = _parse_object(entry.path, text)
    kind = gemini.recognise(entry.path, chat)
    if kind is None or (kind == "subagent" and not wanted.subagents):
        return Reading((), skipped={kind or "unrecognised": 1})
    read = gemini.read_whole(chat, skipped, Start(path=entry.path))
    return make_reading(Stream(entry.path, entry.scope, "gemini"), read, wanted.titles, skipped)


def _parse_object(path: str, text: str) -> Mapping[str, Any]:
    try:
        value = parse_bounded_json(text)
    except TooManyValues as error:
        raise SourceError(
            f"{path}: its JSON states {error}", "leave it out of the corpus"
        ) from error
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
