"""What recall adds to an engine: turns are noted as they are read, and judged as they are shown."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from irclient.types import Disclosure, Hit
from irdaemon.config.corpus import Corpus
from irdaemon.config.sections import Config
from irdaemon.contrib.recall.files import Looker
from irdaemon.contrib.recall.store import DoneTurn, RecallStore
from irdaemon.contrib.recall.verdicts import Judge
from irdaemon.engine.observer import Observer
from irdaemon.engine.state import State
from irdaemon.ledger import Upsert
from irdaemon.ledger.files import set_aside
from irdaemon.ledger.sqlite_errors import is_corrupt
from irdaemon.source.sessions.artifacts import parse_time
from irdaemon.types import Artifact

log = logging.getLogger(__name__)

_TRIED_AGAIN_AFTER_S = 10.0


def make_options(config: Config) -> str:
    """Return the path of the file that keeps what sessions did."""
    return config.recall_path


class RecallObserver(Observer):
    """Keep what turns did in the file at `path`, which is "" where nothing is kept."""

    def __init__(self, state: State):
        self._state = state
        self.path: str = "" if state.ledger.read_only else state.options.addons.get("recall") or ""
        self.looker = Looker(self.list_roots)
        self.judge = Judge(self.path, self.looker)
        self._store: RecallStore | None = None
        self._failed_at = float("-inf")
        self._incomplete: set[str] = set()

    def list_roots(self) -> Iterator[str]:
        """Yield the roots of the projects that are read."""
        projects = self._state.projects
        if projects.settings is not None:
            yield from (each.project.root for each in projects.list_known() if not each.gone_at)

    # -- by any thread ---------------------------------------------------------------------------

    def judge_hits(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return hits with what became of the turns of sessions among them."""
        turns = [(hit.corpus, hit.artifact_id) for hit in hits if _is_turn(hit)]
        if not (self.path and turns):
            return hits
        found = dict(zip(turns, self.judge.judge(turns), strict=True))
        return [replace(h, verdict=found.get((h.corpus, h.artifact_id))) for h in hits]

    def judge_disclosed(self, disclosed: Sequence[Disclosure]) -> Sequence[Disclosure]:
        """Return disclosures with what became of the turns of sessions among them."""
        turns = [(d.corpus, d.artifact_id) for d in disclosed if self._has_turns(d.corpus)]
        if not (self.path and turns):
            return disclosed
        found = dict(zip(turns, self.judge.judge(turns), strict=True))
        return [replace(d, verdict=found.get((d.corpus, d.artifact_id))) for d in disclosed]

    def _has_turns(self, name: str) -> bool:
        corpus = self._state.corpora.get(name)
        return corpus is not None and _has_sessions(corpus)

    # -- by the writer ---------------------------------------------------------------------------

    def close(self) -> None:
        """Close the files."""
        self.judge.reopen()
        if self._store is not None:
            self._store.close()
            self._store = None

    def must_read_all(self, corpus: Corpus) -> bool:
        """Return whether the file lacks transcripts of a corpus."""
        if not (self.path and _has_sessions(corpus)):
            return False
        whole: list[bool] = []
        self._write(lambda store: whole.append(store.is_whole(corpus.name)))
        return whole == [False] or corpus.name in self._incomplete

    def note_read(self, corpus: Corpus, upsert: Upsert) -> None:
        """Keep what the turns of a session did that was read."""
        if not (self.path and _has_sessions(corpus)):
            return
        artifacts = (each.artifact for each in upsert.artifacts)
        turns = [make_turn(each) for each in artifacts if "worked_until" in each.raw]
        if turns or not upsert.partial:
            self._keep(
                corpus.name,
                lambda store: store.put_turns(corpus.name, upsert.entry.key, turns, upsert.partial),
            )

    def note_gone(self, corpus: Corpus, keys: Sequence[str]) -> None:
        """Forget sessions whose files are gone."""
        if self.path and keys and _has_sessions(corpus):
            self._keep(corpus.name, lambda store: store.forget_entries(corpus.name, keys))

    def note_all_read(self, corpus: Corpus) -> None:
        """Note that every transcript of a corpus was read."""
        if self.path and self._write(lambda store: store.set_whole(corpus.name)):
            self._incomplete.discard(corpus.name)

    def forget_corpus(self, name: str) -> None:
        """Forget what sessions of a corpus did that was taken away."""
        if self.path and os.path.exists(self.path):
            self._write(lambda store: store.forget_corpus(name))

    def _keep(self, corpus: str, write: Callable[[RecallStore], Any]) -> None:
        if not self._write(write):
            self._incomplete.add(corpus)

    def _write(self, write: Callable[[RecallStore], Any]) -> bool:
        """Write with the file open, made again where it is damaged; return whether it was done."""
        if 0 <= self._state.clock() - self._failed_at < _TRIED_AGAIN_AFTER_S:
            return False
        try:
            write(self._open())
            return True
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return False

    def _open(self) -> RecallStore:
        if self._store is not None and not os.path.exists(self.path):
            self._store.close()
            self._store = None
        if self._store is None:
            try:
                self._store = RecallStore(self.path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not is_corrupt(error):
                    raise
                log.warning("%s; it lies in %s", error, set_aside(self.path, "corrupt"))
                self.judge.reopen()
                self._store = RecallStore(self.path)
        return self._store

    def _fail(self, error: sqlite3.Error | OSError) -> None:
        self._failed_at = self._state.clock()
        log.warning("what sessions did is not kept: %s", error)
        if self._store is not None:
            with suppress(sqlite3.Error):
                self._store.close()
            self._store = None
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            self.judge.reopen()
            with suppress(OSError):
                set_aside(self.path, "corrupt")


def make_turn(artifact: Artifact) -> DoneTurn:
    """Return what a turn did, as its artifact has it."""
    raw = artifact.raw
    assert not isinstance(raw, str)  # as turns are read
    written = set(raw.get("file_written") or ())
    return DoneTurn(
        artifact.artifact_id,
        f"{artifact.metadata.get('agent')}:{raw.get('session_id')}",
        str(raw.get("cwd") or ""),
        parse_time(str(raw.get("timestamp") or "")),
        parse_time(str(raw.get("worked_until") or "")),
        {path: path in written for path in raw.get("file") or ()},
        tuple(raw.get("commit") or ()),
    )


def find_observer(state: State) -> RecallObserver:
    """Return the part of recall beside an engine."""
    observer = state.addons["recall"]
    assert isinstance(observer, RecallObserver)
    return observer


def _is_turn(hit: Hit) -> bool:
    return "session_id" in hit.fields


def _has_sessions(corpus: Corpus) -> bool:
    return getattr(corpus.source, "has_turns", False)
