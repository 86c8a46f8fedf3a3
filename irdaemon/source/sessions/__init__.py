"""Sessions of coding agents: prompts and answers, turn by turn."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO, ClassVar, Protocol

from irdaemon.source.frontmatter import decode
from irdaemon.source.opening import follow_link, is_within, open_regular, read_regular, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.sessions import aider, claude, codex, copilot, cursor, gemini, pi
from irdaemon.source.sessions.artifacts import Stream, make_reading, make_turn_id
from irdaemon.source.sessions.stores import (
    CURSOR_FILE,
    find_scan_target,
    is_store,
    list_sessions,
    read_stored,
)
from irdaemon.source.sessions.transcript import (
    LINE_LIMIT,
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
from irdaemon.source.tree import (
    PRUNED,
    PRUNED_REASON,
    Expected,
    SeenPath,
    Symlinks,
    Walk,
    check_root,
    is_regular,
    is_searched,
    make_entry,
    shorten_path,
)
from irdaemon.types import Entry, Problem, Reading, Root, Scan, SourceError

__all__ = ["Sessions", "list_known_places"]

_OPTIONS = {"titles": True, "subagents": False, "since_days": 0, "max_line_bytes": LINE_LIMIT}
# Beside a session's file: outputs too large for it, and notes. Neither is a transcript.
_NOT_SESSIONS = frozenset({"tool-results", "memory"})
_DAY = 24 * 60 * 60


class Sessions(RootSource):
    """Enumerate sessions and read their turns.

    A root is a directory, or a file of sessions. Each session in a database is an entry of its
    own; a scan reads the list of them, and nothing else. Options: `titles` (true) adds one record
    per titled session; `subagents` (false) also reads the sessions that agents started;
    `since_days` (0: no limit) is a window over modification times: a session that has left it is,
    to a scan, no longer there; `max_line_bytes` (16,777,216), beyond which a line is passed over.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_line_bytes",)
    has_turns: ClassVar[bool] = True

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        given = read_options("sessions", options, _OPTIONS)
        self._since_days: int = given.pop("since_days")
        self._wanted = SessionFilter(**given)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate sessions: all, or those that a change at `under` can affect."""
        if under is None:
            return self._scan(self._roots, ("",))
        where = find_scan_target(under)
        if not where:
            return Scan((), ())
        within = [root for root in self._roots if is_within(resolve_path(root.path), where)]
        if within:
            return self._scan(tuple(within), tuple(resolve_path(r.path) for r in within))
        root = next((r for r in self._roots if _may_hold(r, where)), None)
        is_directory = os.path.isdir(where)
        is_other = os.path.exists(where) and not (is_directory or _may_be_sessions(where))
        if root is None or is_other:
            return Scan((), ())
        there = is_directory or os.path.isfile(where)
        return self._scan((Root(where, root.scope),) if there else (), (where,))

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected.

        Databases are left out: only their tables tell which sessions they hold.
        """
        return Expected(self._explain_file, _explain_directory)

    def _explain_file(self, seen: SeenPath) -> str | None:
        if not _may_be_sessions(seen.path) or is_store(seen.path):
            return None
        try:
            changed_at = os.stat(seen.path).st_mtime
        except OSError:
            return None
        return "older than since_days" if changed_at < self._compute_since() else ""

    def _compute_since(self) -> float:
        return time.time() - self._since_days * _DAY if self._since_days > 0 else 0.0

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read the turns of a session, only new or changed ones where a file of lines has grown."""
        if is_store(entry.path):
            return read_stored(entry, self._wanted)
        if is_document(entry.path):
            return read_document(entry, self._wanted)
        return read_session(entry, cursor, self._wanted)

    def _scan(self, roots: tuple[Root, ...], covered: tuple[str, ...]) -> Scan:
        walk = Walk(Symlinks.from_roots(self._roots))
        found: list[Entry] = []
        for root in roots:
            if os.path.isdir(root.path):
                found += self._scan_within(walk, resolve_path(root.path), root.scope)
            elif os.path.isfile(root.path):
                found += self._scan_file(walk, root.path, root.scope)
            elif problem := check_root(root):
                walk.problems.append(problem)
        kept = {entry.key: entry for entry in reversed(found)}
        ordered = sorted(kept.values(), key=lambda entry: (entry.path, entry.key))
        return Scan(tuple(ordered), covered, tuple(walk.problems))

    def _scan_within(self, walk: Walk, top: str, scope: str) -> list[Entry]:
        found: list[Entry] = []
        for _, listed in walk.walk_directories(top, _may_hold_sessions):
            for item in listed:
                if _may_be_sessions(item.path) and is_regular(item):
                    found += self._scan_file(walk, item.path, scope)
        return found

    def _scan_file(self, walk: Walk, path: str, scope: str) -> list[Entry]:
        """Return the entries in a file: none when it just vanished or is too old."""
        since = self._compute_since()
        try:
            real = follow_link(path, walk.symlinks.roots, by_name=True)
            if is_store(real):
                return list_sessions(real, scope, since)
            status = os.stat(real)
        except SourceError as error:
            walk.problems.append(Problem(path, error.message))
            return []
        except OSError:
            return []
        if status.st_mtime < since:
            return []
        return [make_entry(real, scope, status)]


def _may_hold_sessions(entry: os.DirEntry[str]) -> bool:
    return is_searched(entry) and entry.name not in _NOT_SESSIONS


def _explain_directory(seen: SeenPath) -> str:
    if seen.name in PRUNED:
        return PRUNED_REASON
    return "outputs and notes of sessions" if seen.name in _NOT_SESSIONS else ""


def _may_be_sessions(path: str) -> bool:
    return path.endswith(".jsonl") or is_store(path) or is_document(path)


def _may_hold(root: Root, path: str) -> bool:
    """Return whether a path lies below a root, outside of the directories without sessions."""
    top = resolve_path(root.path)
    return is_within(path, top) and _NOT_SESSIONS.isdisjoint(path[len(top) :].split("/"))


# The directory of an editor's own files, on Linux and on macOS.
_CURSOR_EDITOR = ("{config}/Cursor", "{home}/Library/Application Support/Cursor")
_OPENCODE_NAME = re.compile(r"opencode(-[\w.]+)?\.db")


def list_known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the places where this user's agents keep sessions, existing or not.

    `env` may move some: CLAUDE_CONFIG_DIR, CODEX_HOME, COPILOT_HOME, GOOSE_PATH_ROOT, OPENCODE_DB,
    XDG_CONFIG_HOME, XDG_DATA_HOME. Aider writes into each repository, so only a history in the
    home directory itself is among them.
    """
    paths = map(os.path.abspath, _list_candidates(home, env))
    return tuple(map(Root, dict.fromkeys(paths)))


def _list_candidates(home: str, env: Mapping[str, str]) -> Iterator[str]:
    codex = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")
    yield os.path.join(codex, "sessions")
    yield os.path.join(codex, "archived_sessions")
    yield os.path.join(home, ".gemini", "tmp")
    yield os.path.join(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "session-state")
    yield os.path.join(home, ".pi", "agent", "sessions")
    yield os.path.join(home, ".cursor", "projects")
    for base in _CURSOR_EDITOR:
        editor = base.format(home=home, config=config)
        yield os.path.join(editor, "User", "globalStorage", CURSOR_FILE)
    yield from _list_opencode(data, env)
    moved = env.get("GOOSE_PATH_ROOT")
    goose = os.path.join(moved, "data") if moved else os.path.join(data, "goose")
    yield os.path.join(goose, "sessions", "sessions.db")
    yield os.path.join(home, aider.FILE_NAME)


def _list_opencode(data: str, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the databases one by one: beside them are logs, caches and repositories."""
    directory = os.path.join(data, "opencode")
    if named := env.get("OPENCODE_DB"):
        yield os.path.join(directory, named)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    yield from (os.path.join(directory, name) for name in names if _OPENCODE_NAME.fullmatch(name))


# Read one session file of JSON lines: from where the last read left it, or from the start.
#
# A tail is used only when it surely gives what reading the whole file would: the file is the same
# and has grown, the last known turn still stands where it stood, the branch that counts still
# passes through it, its pair is still one, and nothing that holds for the whole session has
# changed. Otherwise, as after a rewind or a new title, the whole file is read again.

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
        sniffed = LineReader(self.file, limit=self.wanted.max_line_bytes)
        stream = self._recognise(sniffed)
        if stream is None:
            sniffed.skipped.update({"unrecognised": 1} if sniffed.end else {})
            return Reading((), skipped=sniffed.skipped)
        if stream.kind == "subagent" and not self.wanted.subagents:
            return Reading((), skipped={"subagent": 1})
        reader = LineReader(self.file, limit=self.wanted.max_line_bytes)
        start = Start(is_subagent=stream.kind == "subagent", path=stream.path)
        read = DIALECTS[stream.agent].read_transcript(reader, start)
        return self._make_reading(stream, reader, read, partial=False)

    def _recognise(self, sniffed: LineReader) -> Stream | None:
        path, scope = self.entry.path, self.entry.scope
        for line in islice(sniffed.read_records(), _SNIFFED_LINES):
            for name, dialect in DIALECTS.items():
                if kind := dialect.recognise(path, line.record):
                    return Stream(path, scope, name, kind)
        return None

    def read_tail(self, cursor: Cursor) -> Reading | None:
        """Read from the last known turn on; None when the whole file must be read."""
        if not self._stands(cursor):
            return None
        stream = Stream(self.entry.path, self.entry.scope, cursor.agent, cursor.kind)
        reader = LineReader(self.file, cursor.resume, self.wanted.max_line_bytes)
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
        return digest_line(self.file.readline(self.wanted.max_line_bytes + 1))

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
