"""Read one session file of JSON lines: from where the last read left it, or from the start.

A tail is used only when it surely gives what reading the whole file would: the file is the same and
has grown, the last known turn still stands where it stood, the branch that counts still passes
through it, its pair is still one, and nothing that holds for the whole session has changed.
Otherwise, as after a rewind or a new title, the whole file is read again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Set
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
    TooManyValues,
    Transcript,
    digest_line,
    pack_cursor,
    parse_bounded_json,
    unpack_cursor,
)
from irdaemon.source.tree import shorten_path
from irdaemon.types import Entry, Reading, SourceError

# Whatever an agent writes first, it names itself within so many lines.
_SNIFFED_LINES = 64


class Dialect(Protocol):
    """A module that reads one agent's way of writing sessions, recognised by its lines."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Return whether a line is this agent's, by its structure."""

    def is_subagent(self, path: str, record: Mapping[str, Any]) -> bool:
        """Return whether a file is a sub-agent's, by its path or first line."""

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
            return _Read(entry, file, wanted).reading(unpack_cursor(blob))
        except OSError as error:
            raise SourceError(f"{entry.path}: {error.strerror}", "check the disk") from error


@dataclass(frozen=True, slots=True)
class _Read:
    entry: Entry
    file: BinaryIO
    wanted: SessionFilter

    def reading(self, cursor: Cursor | None) -> Reading:
        return (self._tail(cursor) if cursor else None) or self._from_start()

    def _from_start(self) -> Reading:
        sniffed = LineReader(self.file, limit=self.wanted.line_bytes)
        stream = self._stream(sniffed)
        if stream is None:
            sniffed.skipped.update({"unrecognised": 1} if sniffed.end else {})
            return Reading((), skipped=sniffed.skipped)
        if stream.kind == "subagent" and not self.wanted.subagents:
            return Reading((), skipped={"subagent": 1})
        return self._whole(stream)

    def _stream(self, sniffed: LineReader) -> Stream | None:
        for line in islice(sniffed.records(), _SNIFFED_LINES):
            for name, dialect in DIALECTS.items():
                if dialect.recognises(line.record):
                    inner = dialect.is_subagent(self.entry.path, line.record)
                    kind = "subagent" if inner else "session"
                    return Stream(self.entry.path, self.entry.scope, name, kind)
        return None

    def _whole(self, stream: Stream) -> Reading:
        reader = LineReader(self.file, limit=self.wanted.line_bytes)
        start = Start(is_subagent=stream.kind == "subagent", path=stream.path)
        read = DIALECTS[stream.agent].read_transcript(reader, start)
        return self._report(stream, reader, read, partial=False)

    def _tail(self, cursor: Cursor) -> Reading | None:
        """Read from the last known turn on; None when that would not do."""
        if not self._continues(cursor):
            return None
        stream = Stream(self.entry.path, self.entry.scope, cursor.agent, cursor.kind)
        reader = LineReader(self.file, cursor.resume, self.wanted.line_bytes)
        inner = stream.kind == "subagent"
        start = Start(True, inner, cursor.session, cursor.place, stream.path)
        read = DIALECTS[stream.agent].read_transcript(reader, start)
        if not read.holds or _about(read) != _about(cursor):
            return None
        reading = self._report(stream, reader, read, partial=True)
        given = {artifact.artifact_id for artifact in reading.artifacts}
        return reading if not cursor.emitted or cursor.emitted in given else None

    def _continues(self, cursor: Cursor) -> bool:
        """Return whether the last known turn is still at the offset of the cursor."""
        wanted = self.wanted.subagents or cursor.kind != "subagent"
        same = (
            wanted and cursor.agent in DIALECTS and cursor.same_file(os.fstat(self.file.fileno()))
        )
        return same and cursor.resume > 0 and self._digest(cursor.resume) == cursor.digest

    def _digest(self, offset: int) -> bytes:
        self.file.seek(offset)
        return digest_line(self.file.readline(self.wanted.line_bytes + 1))

    def _report(
        self, stream: Stream, reader: LineReader, read: Transcript, *, partial: bool
    ) -> Reading:
        titles = self.wanted.titles and not partial
        reading = make_reading(stream, read, titles, reader.skipped)
        cursor = self._cursor(stream, reader.end, read, {a.artifact_id for a in reading.artifacts})
        return replace(reading, cursor=pack_cursor(cursor), partial=partial)

    def _cursor(self, stream: Stream, end: int, read: Transcript, made: Set[str]) -> Cursor:
        status = os.fstat(self.file.fileno())
        last = make_turn_id(stream, read.session, read.turns[-1]) if read.turns else ""
        return Cursor(
            agent=stream.agent,
            kind=stream.kind,
            device=status.st_dev,
            inode=status.st_ino,
            end=end,
            resume=read.resume,
            digest=self._digest(read.resume) if read.resume else b"",
            emitted=last if last in made else "",
            session=read.session,
            place=read.place,
        )


def _about(read: Transcript | Cursor) -> tuple[str, str, str]:
    """Return what every artifact of a session repeats."""
    return read.session.id, read.session.cwd, read.session.title


# Session files that are one document: Aider's history, and chats of older Gemini CLIs.

_DOCUMENT_LIMIT = 64 * 1024 * 1024
_CHATS = "/chats/session-"


def is_document(path: str) -> bool:
    """Return whether a file's name is that of sessions in one document."""
    if os.path.basename(path) == aider.FILE_NAME:
        return True
    return path.endswith(".json") and _CHATS in path


def read_document(entry: Entry, wanted: SessionFilter) -> Reading:
    """Read the sessions of a document. Raises FileNotFoundError or SourceError."""
    skipped: Counter[str] = Counter()
    text, _ = decode(read_regular(entry.path, _DOCUMENT_LIMIT))
    if os.path.basename(entry.path) == aider.FILE_NAME:
        directory = os.path.dirname(entry.path)
        read = aider.read_transcript(text, directory, shorten_path(directory))
        return make_reading(Stream(entry.path, entry.scope, "aider"), read, wanted.titles, skipped)
    chat = _parse_object(entry.path, text)
    if not gemini.recognises(chat):
        return Reading((), skipped={"unrecognised": 1})
    if gemini.is_subagent(entry.path, chat) and not wanted.subagents:
        return Reading((), skipped={"subagent": 1})
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
