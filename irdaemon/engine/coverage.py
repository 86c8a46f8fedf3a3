"""Coverage: the files below a corpus' roots, compared with the index.

The walk does not use the corpus' source: files that a source fails to find show up in no index, and
in no measure of one. By the rules of the source (`expect_files`) a file is indexed, left out for a
reason, or missing. It runs on the caller's thread, concurrently with queries and the writer.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from irclient.results import CorpusCoverage
from irdaemon.config.corpus import Corpus
from irdaemon.engine.project_parts import list_held_elsewhere
from irdaemon.engine.state import State, get_known
from irdaemon.ingest.scan import MARKER, OptOuts
from irdaemon.ledger.rows import make_storable
from irdaemon.runtime.deadline import check_clock
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.tree import Expected, SeenPath, Symlinks, is_editor_file

MOST_PATHS = 1_000
# A walk over more files is not a walk of documents; the counts up to then are reported.
_MOST_SEEN = 2_000_000
# After this number of paths the thread sleeps a moment: queries share the GIL.
_LETS_OTHERS_RUN_EVERY = 100
_MOMENT_S = 1e-4
_UNREADABLE = "could not be read: irc status --failures"
_EDITORS = "editors' locks, backups and drafts"
_OF_PROJECTS = "held by the project that it lies in: irc projects"
_EMPTY = "read, and nothing to index was in it"


def measure_coverage(state: State, name: str) -> CorpusCoverage:
    """Return how much of a corpus' files is indexed. Raises Unavailable when out of time.

    Files that were indexed or vanished during the walk do not count as missing.
    """
    corpus = get_known(name, state.corpora)
    judge: Callable[[], Expected] | None = getattr(corpus.source, "expect_files", None)
    if judge is None:
        return CorpusCoverage(name, unchecked=f"a corpus of {corpus.kind} is not a tree of files")
    seen = _Comparison(_Held.read(state, name), list_held_elsewhere(state, corpus))
    unchecked = seen.compare(corpus, judge())
    if seen.missing:
        now = _Held.read(state, name)
        seen.missing = [path for path in seen.missing if _is_missing(path, now)]
    return seen.summarize(name, unchecked)


def _is_missing(path: str, held: _Held) -> bool:
    return path not in held.entries and path not in held.failed and os.path.lexists(path)


@dataclass(frozen=True, slots=True)
class _Held:
    """The paths of a corpus' entries in the ledger, each with whether it has artifacts."""

    entries: Mapping[str, bool]
    failed: frozenset[str]

    @classmethod
    def read(cls, state: State, name: str) -> _Held:
        with state.open_reading() as ledger:
            failed = (failure.path for failure in ledger.failures.list_all(name))
            return cls(ledger.entries.list_paths(name), frozenset(failed))


@dataclass(slots=True)
class _Comparison:
    """The findings of one walk: entries by path, and counts by reason."""

    held: _Held
    elsewhere: tuple[str, ...] = ()
    optouts: OptOuts = field(default_factory=OptOuts)
    met: set[str] = field(default_factory=set)
    on_disk: int = 0
    indexed: int = 0
    missing: list[str] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)

    def compare(self, corpus: Corpus, expected: Expected) -> str:
        """Walk the roots and judge each file; return what was left unchecked, or ""."""
        walk = _RootWalk(expected, Symlinks.from_roots(corpus.source.roots()), self.excluded)
        for number, seen in enumerate(walk.list_files(corpus)):
            if number % _LETS_OTHERS_RUN_EVERY == 0:
                check_clock()
                time.sleep(_MOMENT_S)
            if number >= _MOST_SEEN:
                return f"the walk ended after {_MOST_SEEN:,} files"
            self._judge(seen, expected)
        return "; ".join(walk.problems)

    def _judge(self, seen: SeenPath, expected: Expected) -> None:
        entry = expected.entry(seen)
        if seen.is_link:
            entry = resolve_path(entry)
        if entry in self.met:
            return
        holds = self.held.entries.get(entry)
        # Indexed files need no judging, which takes most of the time.
        reason = "" if holds else expected.file(seen)
        if reason is None and holds is None:
            return
        self.met.add(entry)
        self.on_disk += 1
        if holds:
            self.indexed += 1
        elif why := reason or self._find_reason(entry, holds is not None):
            self.excluded[why] += 1
        else:
            self.missing.append(make_storable(entry))

    def _find_reason(self, entry: str, known: bool) -> str:
        if entry in self.held.failed:
            return _UNREADABLE
        if self.optouts.covers(entry):
            return f"opted out by {MARKER}"
        if any(is_within(entry, top) for top in self.elsewhere):
            return _OF_PROJECTS
        return _EMPTY if known else ""

    def summarize(self, name: str, unchecked: str) -> CorpusCoverage:
        due = self.indexed + len(self.missing)
        return CorpusCoverage(
            corpus=name,
            on_disk=self.on_disk,
            indexed=self.indexed,
            missing=len(self.missing),
            ratio=self.indexed / due if due else 1.0,
            excluded=dict(self.excluded.most_common()),
            missing_paths=sorted(self.missing)[:MOST_PATHS],
            unchecked=unchecked,
        )


@dataclass(slots=True)
class _RootWalk:
    """Walk the roots of a corpus: every real directory once, links by its policy."""

    expected: Expected
    symlinks: Symlinks
    excluded: Counter[str]
    problems: list[str] = field(default_factory=list)
    entered: set[str] = field(default_factory=set)

    def list_files(self, corpus: Corpus) -> Iterator[SeenPath]:
        """Yield each file below the roots; count the directories that are skipped."""
        for root in corpus.source.roots():
            top = resolve_path(root.path)
            if os.path.isfile(top):
                yield SeenPath(top, os.path.basename(top), top)
            elif os.path.isdir(top):
                yield from self._walk_directory(top)
            else:
                self.problems.append(f"nothing is at {root.path}")

    def _walk_directory(self, top: str) -> Iterator[SeenPath]:
        pending = [(top, "")]
        while pending:
            directory, above = pending.pop()
            if directory in self.entered:
                continue
            self.entered.add(directory)
            for entry in self._list_directory(directory):
                relative = os.path.join(above, entry.name)
                seen = SeenPath(entry.path, relative, top, entry.is_symlink())
                if _is_directory(entry):
                    if real := self._resolve_directory(entry, seen):
                        pending.append((real, seen.relative))
                elif _is_file(entry):
                    if not is_editor_file(entry.name):
                        yield seen
                    else:
                        self.excluded[_EDITORS] += 1

    def _list_directory(self, directory: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as found:
                yield from found
        except OSError as error:
            self.problems.append(f"{directory}: {error.strerror or error}")

    def _resolve_directory(self, entry: os.DirEntry[str], seen: SeenPath) -> str:
        """Return the real path of a directory to walk, or "" to skip it."""
        real = resolve_path(entry.path) if seen.is_link else entry.path
        reason = self.expected.directory(seen)
        if reason == "" and real != entry.path and not self._follows(entry.path, real):
            reason = "a link that is not followed"
        if reason:
            self.excluded[f"directory: {reason}"] += 1
        return real if reason == "" else ""

    def _follows(self, link: str, target: str) -> bool:
        return not self.symlinks.danger(target) and self.symlinks.follows(link, target)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False
