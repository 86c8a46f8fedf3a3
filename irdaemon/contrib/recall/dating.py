"""Determine, in the background, the content of the files of turns at the time of the turn.

A file that has not been written since its turn is its own evidence. For others git may know: from
the commit that the turn made or the next one, or from an earlier commit. Otherwise the file's
content when it is first examined is used.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing

from irclient.errors import IRError, Unavailable
from irdaemon.config.sections import Config
from irdaemon.contrib.recall.files import FileNow, Looker, read_file
from irdaemon.contrib.recall.history import (
    History,
    has_repository,
    list_lost_commits,
    read_history,
)
from irdaemon.contrib.recall.observer import RecallObserver
from irdaemon.contrib.recall.store import FileState, MadeCommit, RecallStore, Unlooked
from irdaemon.contrib.recall.verdicts import find_symbols
from irdaemon.engine import Engine
from irdaemon.engine.observer import Background
from irdaemon.engine.state import State
from irdaemon.source.opening import is_within

log = logging.getLogger(__name__)

_AT_ONCE = 200
# About 40 MB.
_MOST_RUNS = 200_000
_RESTS_S, _WAITS_S = 0.2, 60.0
# Look for commits again after this many seconds, and after new ones.
_COMMITS_EVERY_S = 900.0
# A file written within a moment of a turn's last call was written by that call.
_SLACK_S = 2.0
_MOST_SYMBOLS = 40
_SYMBOL = re.compile(r"`([A-Za-z_][\w.]{2,79})(?:\(\))?`")


class DatingWork(Background):
    """Examine the files of turns that were not examined yet, a few at a time."""

    name, failure = "recall", "files of sessions were not looked at"
    stops_within_s = 2.0
    follows_generations = True

    def __init__(self, state: State, observer: RecallObserver):
        self._state, self._observer = state, observer
        # By root, the number of commits looked for, and when; and the time for all roots.
        self._commits: dict[str, tuple[int, float]] = {}
        self._looked_for: tuple[int, tuple[str, ...]] = 0, ()
        self._looked_at = float("-inf")
        # By root, while more files are waiting than are examined at once.
        self._histories: dict[str, RepositoryHistory] = {}

    def is_needed(self) -> bool:
        """Return whether anything is recorded about sessions."""
        return self._observer.path != ""

    def tick(self) -> float:
        """Examine some files; return after how long to continue."""
        if not os.path.exists(self._observer.path):
            return _WAITS_S
        self._observer.looker.read_queued()
        # Files in a nested project belong to the nested one.
        known = sorted(self._observer.list_known_roots(), key=len, reverse=True)
        there = set(self._observer.list_roots())
        roots = [root for root in known if root in there]
        try:
            with closing(RecallStore(self._observer.path, create=False)) as store:
                store.keep_roots(known)
                full = [self._date_files(store, root) for root in roots]
                self._check_commits(store, known, roots)
                store.prune_runs(_MOST_RUNS)
        except (sqlite3.Error, OSError) as error:
            log.warning("files of sessions are not looked at: %s", error)
            return _WAITS_S
        return _RESTS_S if any(full) else _WAITS_S

    def _date_files(self, store: RecallStore, root: str) -> bool:
        """Determine the content of some files below a root; return whether there may be more."""
        history = self._histories.pop(root, None) or RepositoryHistory(
            root, store.find_oldest(root)
        )
        is_full = date_files(store, self._observer.looker, history, self._find_named)
        if is_full:
            self._histories[root] = history
        return is_full

    def _find_named(self, turns: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
        """Return the names in code marks in each turn's text."""
        with self._state.open_reading() as ledger:
            held = {turn: ledger.artifacts.get(*turn) for turn in turns}
        return {turn: list_named((each.body if each else "") or "") for turn, each in held.items()}

    def _check_commits(
        self, store: RecallStore, known: Sequence[str], roots: Collection[str]
    ) -> None:
        """Look for the commits made below some of the known roots, the innermost roots first."""
        now, about = self._state.clock(), (store.count("commits"), tuple(roots))
        if about == self._looked_for and 0 <= now - self._looked_at < _COMMITS_EVERY_S:
            return
        self._looked_for, self._looked_at = about, now
        for root, made in _group_by_root(store.list_commits(), known).items():
            count, at = self._commits.get(root, (0, float("-inf")))
            if root not in roots or (count == len(made) and 0 <= now - at < _COMMITS_EVERY_S):
                continue
            self._commits[root] = len(made), now
            if has_repository(root):
                _look_for_commits(store, root, made)


def _group_by_root(made: Iterable[MadeCommit], roots: Sequence[str]) -> dict[str, list[MadeCommit]]:
    found = defaultdict[str, list[MadeCommit]](list)
    for each in made:
        if root := next((root for root in roots if is_within(each.place, root)), ""):
            found[root].append(each)
    return found


def _look_for_commits(store: RecallStore, root: str, made: Sequence[MadeCommit]) -> None:
    hashes, since = [each.hash for each in made], min(each.at for each in made)
    try:
        store.set_gone(made, list_lost_commits(root, hashes, since))
    except Unavailable as error:
        log.info("commits of sessions are not looked for: %s", error)


def date_files(
    store: RecallStore,
    looker: Looker,
    history: RepositoryHistory,
    find_named: Callable[[set[tuple[str, str]]], Mapping[tuple[str, str], Sequence[str]]],
) -> bool:
    """Determine what some of a repository's files were at their turns; return whether more wait.

    `find_named` returns the names in code marks of turns, by corpus and id.
    """
    found = store.list_unlooked(history.root, _AT_ONCE)
    if not found:
        return False
    look, named = looker.look(), find_named({(each.corpus, each.turn_id) for each in found})
    read = {path: read_file(look, path) for path in {each.path for each in found}}
    store.put_states(
        (
            each.turn,
            date_file(read[each.path], history.find, each, named[each.corpus, each.turn_id]),
        )
        for each in found
        # A file in a nested repository belongs to the nested one.
        if look.find_root(each.path) in (history.root, "")
    )
    return len(found) == _AT_ONCE


class RepositoryHistory:
    """The history of a repository since a time (Unix seconds), read on first use."""

    def __init__(self, root: str, since: float):
        self.root, self._since = root, since
        self._history: History | None = None

    def find(self, touch: Unlooked) -> str:
        """Return the hash of a file after its turn, "" if git does not know."""
        if self._history is None:
            self._history = self._read()
        path = os.path.relpath(touch.path, self.root)
        return self._history.find_blob(path, touch.is_write, touch.at, touch.until)

    def _read(self) -> History:
        if not has_repository(self.root):
            return History()
        try:
            return read_history(self.root, self._since)
        except IRError as error:
            log.info("the history of sessions' files is not read: %s", error)
            return History()


def date_file(
    now: FileNow, ask_git: Callable[[Unlooked], str], touch: Unlooked, named: Sequence[str]
) -> FileState:
    """Return the state, after the turn that touched it, of a file with this present state."""
    blob = now.blob
    if not _is_untouched_since(now, touch):
        blob = ask_git(touch) or blob
    symbols = tuple(find_symbols(named, now.content))
    if blob and blob == now.blob:
        return FileState(touch.path, blob, now.size, now.mtime, symbols)
    return FileState(touch.path, blob, symbols=symbols)


def _is_untouched_since(now: FileNow, touch: Unlooked) -> bool:
    return now.presence == "there" and now.mtime <= (touch.until + _SLACK_S) * 1e9


def list_named(text: str) -> list[str]:
    """Return the distinct names in code marks in a text."""
    return list(dict.fromkeys(_iterate_names(text)))[:_MOST_SYMBOLS]


def _iterate_names(text: str) -> Iterator[str]:
    for found in _SYMBOL.finditer(text):
        name = found[1].rstrip(".").rpartition(".")[2]
        # A plain word in code marks may just as well be a command or a value.
        if "_" in name or found[0].endswith("()`") or re.search(r"[a-z][A-Z]", name):
            yield name


def make_background(engine: Engine, config: Config) -> DatingWork:
    """Return the background work that examines the files of turns."""
    return DatingWork(engine.state, RecallObserver.find_in(engine.state.addons))
