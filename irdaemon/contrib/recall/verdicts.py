"""Judge whether a recalled turn still holds.

Each file is compared with its state at the turn: by size and time, and if these differ by content.
A client waits, so the comparison has a time budget: files that could not be compared do not count.
On the loop, where every client waits, no file is read: only contents that were read before count,
and the others are read in the background, for the next time.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from irclient.types import Verdict
from irdaemon.contrib.recall.files import FileNow, Look, Looker
from irdaemon.contrib.recall.store import FileState, RecallStore, TurnState

Compare = Callable[[Look, FileState], FileNow]

BUDGET_S = 0.005
# How many files of a turn are compared, written ones first.
_MOST_FILES = 40
_MOST_TOLD = 20
# Stands for the hash of a content of a different size.
_OTHER = "other"


class Judge:
    """Judge turns by what a file records of them; any thread may."""

    def __init__(self, path: str, looker: Looker, clock: Callable[[], float] = time.monotonic):
        self._path, self._looker, self._clock = path, looker, clock
        self._store: RecallStore | None = None

    def judge(
        self, turns: Sequence[tuple[str, str]], budget_s: float = BUDGET_S, reads: bool = True
    ) -> list[Verdict | None]:
        """Return the verdict on each turn (corpus, id), None for unknown turns.

        Files are read only if `reads`.
        """
        states = [self._find_state(*turn) for turn in turns]
        if not any(states):
            return [None] * len(turns)
        look, until = self._looker.look(), self._clock() + budget_s
        compare = compare_content if reads else compare_status
        return [self._judge_turn(look, each, until, compare) if each else None for each in states]

    def reopen(self) -> None:
        """Open the file again at the next turn, because it was closed or replaced."""
        self._store = None

    def _find_state(self, corpus: str, turn_id: str) -> TurnState | None:
        # SQLite allows one thread at a time to use a connection.
        try:
            store = self._store = self._store or RecallStore(self._path, read_only=True)
            return store.find_state(corpus, turn_id)
        except (sqlite3.Error, OSError, ValueError):
            self._store = None
            return None

    def _judge_turn(
        self, look: Look, state: TurnState, until: float, compare: Compare
    ) -> Verdict | None:
        files, changed, gone = 0, list[str](), list[str]()
        lost, kept = set[str](), set[str]()
        for file in state.files[:_MOST_FILES]:
            if self._clock() > until:
                break
            now = compare(look, file)
            if now.presence == "unknown" or (now.presence == "there" and not now.blob):
                continue
            files += 1
            if now.presence == "gone":
                gone.append(file.path)
                lost.update(file.symbols)
            elif now.blob != file.blob:
                changed.append(file.path)
                there = find_symbols(file.symbols, now.content)
                kept.update(there)
                lost.update(set(file.symbols) - set(there) if now.content else ())
            else:
                kept.update(file.symbols)
        if not (files or state.gone):
            return None
        return Verdict(
            _name_state(files, len(changed), len(gone), bool(state.gone or lost - kept)),
            files,
            tuple(changed[:_MOST_TOLD]),
            tuple(gone[:_MOST_TOLD]),
            tuple(sorted(lost - kept)[:_MOST_TOLD]),
            state.gone[:_MOST_TOLD],
        )


def _name_state(files: int, changed: int, gone: int, lost: bool) -> str:
    if files and gone == files:
        return "gone"
    return "changed" if changed or gone or lost else "holds"


def compare_content(look: Look, file: FileState) -> FileNow:
    """Return a file as it is, with the hash of its content if that could be computed."""
    seen = look.check_presence(file.path)
    known = _find_hash(look, file, seen)
    if seen.presence != "there" or (known and (known == file.blob or not file.symbols)):
        return replace(seen, blob=known)
    return look.read(file.path, seen)


def compare_status(look: Look, file: FileState) -> FileNow:
    """Return a file as it is, with a hash of its content only if known without reading."""
    seen = look.check_presence(file.path)
    known = _find_hash(look, file, seen)
    if seen.presence == "there" and not known:
        look.looker.queue_read(file.path)
        known = _OTHER if 0 <= file.size != seen.size else ""
    return replace(seen, blob=known)


def _find_hash(look: Look, file: FileState, seen: FileNow) -> str:
    """Return the hash of a file's content, "" if this content has not been read."""
    if (seen.size, seen.mtime) == (file.size, file.mtime):
        return file.blob
    return look.looker.find_blob(file.path, seen.size, seen.mtime)


def find_symbols(wanted: Iterable[str], content: bytes) -> list[str]:
    """Return the names that occur in a content as whole words."""
    text = content.decode("utf-8", "replace")
    return [each for each in wanted if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)]
