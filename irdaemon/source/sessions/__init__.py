"""Sessions of coding agents: prompts and answers, turn by turn."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import ClassVar

from irdaemon.source.expected import PRUNED_REASON, Expected, SeenPath
from irdaemon.source.opening import follow_link, resolve_path
from irdaemon.source.options import check_options, get_number, get_switch
from irdaemon.source.sessions import aider, cursor
from irdaemon.source.sessions.reader import is_document, read_document, read_session
from irdaemon.source.sessions.stores import find_scan_target, is_store, list_sessions, read_stored
from irdaemon.source.sessions.transcript import LINE_LIMIT, SessionFilter
from irdaemon.source.tree import (
    PRUNED,
    Symlinks,
    Walk,
    check_root,
    is_regular,
    is_searched,
    is_within,
    make_entry,
)
from irdaemon.types import Entry, Problem, Reading, Root, Scan, SourceError

__all__ = ["Sessions", "known_places"]

_OPTIONS: dict[str, type] = {
    "titles": bool,
    "subagents": bool,
    "since_days": int,
    "max_line_bytes": int,
}
# Beside a session's file: outputs too large for it, and notes. Neither is a transcript.
_NOT_SESSIONS = frozenset({"tool-results", "memory"})
_DAY = 24 * 60 * 60


class Sessions:
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
        given = check_options("sessions", options, _OPTIONS)
        self._roots = roots
        self._wanted = SessionFilter(
            get_switch(given, "titles", True),
            get_switch(given, "subagents", False),
            get_number(given, "max_line_bytes", LINE_LIMIT),
        )
        self._since_days = get_number(given, "since_days", 0)

    def roots(self) -> tuple[Root, ...]:
        """Return the given places."""
        return self._roots

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

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected.

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
        walk = Walk(Symlinks.of(self._roots))
        found: list[Entry] = []
        for root in roots:
            if os.path.isdir(root.path):
                found += self._scan_within(walk, resolve_path(root.path), root.scope)
            elif os.path.isfile(root.path):
                found += self._scan_file(walk, root.path, root.scope)
            elif problem := check_root(root):
                walk.problems.append(problem)
        return _make_scan(found, covered, walk.problems)

    def _scan_within(self, walk: Walk, top: str, scope: str) -> list[Entry]:
        found: list[Entry] = []
        for _, listed in walk.directories(top, _may_hold_sessions):
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


def _make_scan(found: list[Entry], covered: tuple[str, ...], problems: list[Problem]) -> Scan:
    kept = {entry.key: entry for entry in reversed(found)}
    ordered = sorted(kept.values(), key=lambda entry: (entry.path, entry.key))
    return Scan(tuple(ordered), covered, tuple(problems))


# The directory of an editor's own files, on Linux and on macOS.
_CURSOR_EDITOR = ("{config}/Cursor", "{home}/Library/Application Support/Cursor")
_OPENCODE_NAME = re.compile(r"opencode(-[\w.]+)?\.db")


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
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
        yield os.path.join(editor, "User", "globalStorage", cursor.FILE_NAME)
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
