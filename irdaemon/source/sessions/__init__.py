"""Sessions of coding agents: what was asked, and what was answered, turn by turn."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping

from irdaemon.source.options import checked, number, switch
from irdaemon.source.sessions.lines import LINE_LIMIT
from irdaemon.source.sessions.reader import Wanted, read_session
from irdaemon.source.tree import (
    Walk,
    at_or_under,
    home_relative,
    is_regular,
    missing,
    not_pruned,
    stamp_of,
)
from irdaemon.types import Entry, Problem, Reading, Root, Scan

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
    """Enumerate session files and read their turns.

    Options: `titles` (true) adds one record per titled session; `subagents` (false) also reads
    the sessions that agents started; `since_days` (0: no limit) is a window over modification
    times: a session that has left it is, to a scan, no longer there; `max_line_bytes`
    (16,777,216), beyond which a line is passed over.
    """

    limits = ("max_line_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        given = checked("sessions", options, _OPTIONS)
        self._roots = roots
        self._wanted = Wanted(
            switch(given, "titles", True),
            switch(given, "subagents", False),
            number(given, "max_line_bytes", LINE_LIMIT),
        )
        self._since_days = number(given, "since_days", 0)

    def roots(self) -> tuple[Root, ...]:
        """Return the directories given."""
        return self._roots

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate session files: all, or those that a change at `under` can affect."""
        if under is None:
            return self._scan(self._roots, ("",))
        within = [root for root in self._roots if at_or_under(os.path.realpath(root.path), under)]
        if within:
            return self._scan(tuple(within), tuple(os.path.realpath(r.path) for r in within))
        root = next((r for r in self._roots if _concerns(under, r)), None)
        return self._below(under, root) if root else Scan((), ())

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read the turns of a session file, only new or changed ones where it has grown."""
        return read_session(entry, cursor, self._wanted)

    def _scan(self, roots: tuple[Root, ...], covered: tuple[str, ...]) -> Scan:
        walk = Walk()
        found: list[Entry] = []
        for root in roots:
            if os.path.isdir(root.path):
                found.extend(self._entries(walk, root.path, root.scope))
            elif problem := missing(root):
                walk.problems.append(problem)
        return _scan_of(found, covered, walk.problems)

    def _below(self, under: str, root: Root) -> Scan:
        """Scan one path below a root, which may be gone."""
        if os.path.isdir(under):
            walk = Walk()
            found = list(self._entries(walk, under, root.scope))
            return _scan_of(found, (under,), walk.problems)
        if os.path.exists(under) and not under.endswith(".jsonl"):
            return Scan((), ())
        entry = self._entry(under, root.scope) if os.path.isfile(under) else None
        return _scan_of([entry] if entry else [], (under,), [])

    def _entries(self, walk: Walk, top: str, scope: str) -> Iterator[Entry]:
        for _, listed in walk.directories(top, _may_hold_sessions):
            for item in listed:
                if item.name.endswith(".jsonl") and is_regular(item):
                    entry = self._entry(item.path, scope)
                    if entry:
                        yield entry

    def _entry(self, path: str, scope: str) -> Entry | None:
        """Return the entry of a session file, None when it just vanished or is too old."""
        real = os.path.realpath(path)
        try:
            status = os.stat(real)
        except OSError:
            return None
        if self._since_days > 0 and status.st_mtime < time.time() - self._since_days * _DAY:
            return None
        return Entry(home_relative(real), real, stamp_of(status), status.st_mtime_ns, scope)


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the session directories of the agents used on this machine, existing ones only."""
    claude = env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    paths = (
        os.path.join(claude, "projects"),
        os.path.join(codex, "sessions"),
        os.path.join(codex, "archived_sessions"),
    )
    return tuple(Root(path) for path in map(os.path.abspath, paths) if os.path.isdir(path))


def _may_hold_sessions(entry: os.DirEntry[str]) -> bool:
    return not_pruned(entry) and entry.name not in _NOT_SESSIONS


def _concerns(under: str, root: Root) -> bool:
    """Say whether a path lies below a root where sessions are."""
    top = os.path.realpath(root.path)
    below = under[len(top) :].split("/")
    return at_or_under(under, top) and not _NOT_SESSIONS.intersection(below)


def _scan_of(found: list[Entry], covered: tuple[str, ...], problems: list[Problem]) -> Scan:
    entries = {entry.path: entry for entry in reversed(found)}
    return Scan(tuple(entries[path] for path in sorted(entries)), covered, tuple(problems))
