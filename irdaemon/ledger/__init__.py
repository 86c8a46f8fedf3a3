# ruff: noqa: I001 (each module is imported once, with the names that are offered again)
"""The ledger: one SQLite file that holds the truth about every corpus.

One process writes, through one `Ledger`; `reading()` gives a read-only view on a connection of its
own. Every write is one transaction: after a crash an artifact is wholly old or wholly new. The
file is private to its owner, and so is the directory it lies in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from secrets import randbits

import numpy as np

from irdaemon.ledger.artifacts import MOST_PINS as MOST_PINS, Artifacts, Pins
from irdaemon.ledger.check import IntegrityProblem as IntegrityProblem, check, repair
from irdaemon.ledger.corpora import Corpora
from irdaemon.ledger.entries import Entries, Failures, Projects, Secrets
from irdaemon.ledger.preferences import KnownProject as KnownProject, KnownProjects
from irdaemon.ledger.index_rows import IndexRows, Vectors
from irdaemon.ledger.preferences import (
    Fading as Fading,
    Preference as Preference,
    Preferences,
)
from irdaemon.ledger.prompts import ExpectedPrompts
from irdaemon.ledger.links import ArtifactLinks as ArtifactLinks
from irdaemon.ledger.rows import (
    ArtifactPage as ArtifactPage,
    Counts as Counts,
    Decomposed as Decomposed,
    Delta as Delta,
    Failure as Failure,
    KnownEntry as KnownEntry,
    Expected as Expected,
    ExpectedPrompt as ExpectedPrompt,
    PromptRate as PromptRate,
    Namesake as Namesake,
    Pin as Pin,
    Record as Record,
    Secret as Secret,
    StoredArtifact as StoredArtifact,
    TabledTerms as TabledTerms,
)
from irdaemon.ledger.rows import (
    Upsert as Upsert,
    hash_content as hash_content,
    hash_version as hash_version,
    make_record_id as make_record_id,
)
from irdaemon.ledger.schema import FORMAT as FORMAT, LedgerError as LedgerError
from irdaemon.ledger.store import IN_MEMORY as IN_MEMORY, Store
from irdaemon.ledger.synopses import Synopses
from irdaemon.ledger.terms import Terms

_JOBS_KEPT = 1_000


class Ledger:
    """Keep corpora, entries, artifacts, records, vectors and failures."""

    def __init__(self, path: str, *, read_only: bool = False):
        self.path = path
        self.read_only = read_only
        self._store = Store(path, read_only=read_only)
        self.artifacts = Artifacts(self._store)
        self.index_rows = IndexRows(self._store)
        self.terms = Terms(self._store)
        self.prompts = ExpectedPrompts(self._store, self.terms)
        self.corpora = Corpora(self._store, self.prompts)
        self.entries = Entries(self._store, self.terms, self.prompts)
        self.failures = Failures(self._store)
        self.vectors = Vectors(self._store)
        self.secrets = Secrets(self._store)
        self.projects = Projects(self._store)
        self.known_projects = KnownProjects(self._store)
        self.pins = Pins(self._store)
        self.links = ArtifactLinks(self._store)
        self.synopses = Synopses(self._store)
        self.preferences = Preferences(self._store)

    def close(self) -> None:
        """Save when the last scans ended, and close the file."""
        with suppress(sqlite3.Error):  # the file is damaged or gone; these times do not matter then
            self.corpora.save_scans()
        self._store.close()

    @contextmanager
    def open_view(self) -> Iterator[Ledger]:
        """Open a read-only view that any thread may use and that waits for no writer."""
        if self.path == IN_MEMORY:
            yield self
            return
        view = Ledger(self.path, read_only=True)
        try:
            yield view
        finally:
            view.close()

    @property
    def format(self) -> int:
        """Return the file's format number, which is independent of the package's version."""
        return self._store.format

    def hold_snapshot(self) -> AbstractContextManager[None]:
        """Read one consistent snapshot inside the block, while others may write."""
        return self._store.hold_snapshot()

    def transaction(self) -> AbstractContextManager[None]:
        """Write everything inside the block in one transaction."""
        return self._store.transaction()

    # -- the file --------------------------------------------------------------------------------

    def check(self) -> list[IntegrityProblem]:
        """Check the ledger's integrity and return what is wrong.

        Raises LedgerError for a ledger of a later format.
        """
        return check(self._store)

    def repair(self) -> int:
        """Drop the rows that `check` reports and mark their entries to be read again; count these.

        The file must be sound, and no index may have been built from it.
        """
        return repair(self._store)

    def was_moved(self) -> bool:
        """Return whether the path no longer leads to the open file."""
        return self._store.was_moved()

    def put_back(self) -> None:
        """Restore a moved or deleted ledger file from the open connection."""
        self._store.put_back()

    # -- generations, jobs, upkeep ---------------------------------------------------------------

    def read_generation(self) -> int:
        """Return the number of the last published snapshot."""
        return self._store.read_number("SELECT value FROM counters WHERE name = 'generation'")

    def read_identity(self) -> int:
        """Return this ledger's unique number, made at the first call.

        A read-only view returns 0 before that.
        """
        if not self.read_only:
            self._store.write(
                "INSERT OR IGNORE INTO counters VALUES ('identity', ?)", (randbits(62),)
            )
        return self._store.read_number("SELECT value FROM counters WHERE name = 'identity'")

    def adopt_history(self, generation: int, vocabulary: Mapping[str, int]) -> None:
        """Continue another ledger in this new one, with its generation and term ids."""
        with self._store.transaction():
            self._store.run(
                "UPDATE counters SET value = ? WHERE name = 'generation'", (generation,)
            )
            self.terms.adopt(vocabulary)
        self.read_identity()

    def advance_generation(self) -> int:
        """Count one more published snapshot and return its number."""
        self._store.write("UPDATE counters SET value = value + 1 WHERE name = 'generation'")
        return self.read_generation()

    def log_job(self, kind: str, corpus: str, report: str, started: float, took_ms: float) -> None:
        """Log a finished job; the last thousand are kept."""
        with self._store.transaction():
            inserted = self._store.run(
                "INSERT INTO jobs(kind, corpus, report, started, took_ms) VALUES (?, ?, ?, ?, ?)",
                (kind, corpus, report, started, took_ms),
            )
            oldest = (inserted.lastrowid or 0) - _JOBS_KEPT
            self._store.run("DELETE FROM jobs WHERE id <= ?", (oldest,))

    def find_last_job(self, kind: str) -> float | None:
        """Return when the last logged job of a kind began, or None."""
        row = self._store.fetch_one("SELECT max(started) FROM jobs WHERE kind = ?", (kind,))
        return row[0] if row else None

    def forget_unused_terms(self) -> None:
        """Blank the terms that no stored text uses any more."""
        used = np.zeros(len(self.terms.get_table()), np.bool_)
        for statement in ("SELECT terms FROM records", "SELECT name_terms FROM artifacts"):
            for packed in self._store.iterate_parts(statement):
                used[np.frombuffer(b"".join(ids for (ids,) in packed), np.int32)] = True
        self.terms.blank_unused(used)

    def release_memory(self) -> None:
        """Free the memory of cached words and of SQLite's cached pages."""
        self.terms.pack()
        self._store.release_memory()

    # -- erasing ---------------------------------------------------------------------------------

    def count_forgotten(self) -> tuple[int, int]:
        """Return how often data was forgotten, and replaced, since the file was rewritten.

        Its old content may still be legible in the file.
        """
        return self._store.count_forgotten()

    def vacuum(self, stop: Callable[[], bool] | None = None) -> None:
        """Rewrite the whole file, so that it contains only present data, and fold its log.

        It ends early if `stop`, called regularly, returns true, and then raises
        sqlite3.OperationalError.
        """
        counted = self._store.count_forgotten()
        self._store.vacuum(stop)
        self._store.settle(counted)
        self.fold_log()

    def has_log_grown(self) -> bool:
        """Return whether the write-ahead log has grown since `fold_log`."""
        return self._store.has_log_grown()

    def fold_log(self) -> bool:
        """Fold the write-ahead log into the file and empty it, without waiting for readers.

        Returns whether that was done.
        """
        return self._store.fold_log()
