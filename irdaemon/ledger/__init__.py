"""The ledger: one SQLite file that holds the truth about every corpus.

One process writes, through one `Ledger`; `reading()` gives a read-only view on a connection of its
own. Every write is one transaction: after a crash an artifact is wholly old or wholly new. The
file is private to its owner, and so is the directory it lies in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from secrets import randbits
from typing import Any

import msgpack
import numpy as np

from irdaemon.ledger import erasing
from irdaemon.ledger.check import Finding, faults
from irdaemon.ledger.entries import Entries
from irdaemon.ledger.failures import Failures
from irdaemon.ledger.pins import MOST as MOST_PINS
from irdaemon.ledger.pins import Pins
from irdaemon.ledger.projects import Projects
from irdaemon.ledger.repair import mend
from irdaemon.ledger.rows import (
    Counts,
    Decomposed,
    Delta,
    Failure,
    KnownEntry,
    Pin,
    PlacedSecret,
    Record,
    Secret,
    StoredArtifact,
    Upsert,
    Wanted,
    content_hash,
    record_id,
    version_hash,
)
from irdaemon.ledger.schema import LedgerError
from irdaemon.ledger.secrets import Secrets
from irdaemon.ledger.store import IN_MEMORY, Store
from irdaemon.ledger.terms import Terms
from irdaemon.ledger.vectors import ALL_ROWS, Vectors
from irdaemon.types import Floor, Problem

__all__ = [
    "IN_MEMORY",
    "MOST_PINS",
    "Counts",
    "Decomposed",
    "Delta",
    "Failure",
    "Finding",
    "KnownEntry",
    "Ledger",
    "LedgerError",
    "Pin",
    "PlacedSecret",
    "Record",
    "Secret",
    "StoredArtifact",
    "Upsert",
    "Wanted",
    "content_hash",
    "record_id",
    "version_hash",
]

_JOBS_KEPT = 1_000
_SUMMARY_CHARS = 400


class Ledger:
    """Keep corpora, entries, artifacts, records, vectors and failures."""

    def __init__(self, path: str, *, read_only: bool = False):
        self.path = path
        self._store = Store(path, read_only=read_only)
        self.terms = Terms(self._store)
        self.entries = Entries(self._store, self.terms)
        self.failures = Failures(self._store)
        self.vectors = Vectors(self._store)
        self.secrets = Secrets(self._store)
        self.projects = Projects(self._store)
        self.pins = Pins(self._store)

    def close(self) -> None:
        """Close the file; nothing is pending."""
        self._store.close()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Give a read-only view that any thread may use and that waits for no writer."""
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
        """Return the number of the file's format, which moves apart from the package's version."""
        return self._store.format

    def one_moment(self) -> AbstractContextManager[None]:
        """Make all that is read within of one moment, whoever writes meanwhile."""
        return self._store.one_moment()

    def transaction(self) -> AbstractContextManager[None]:
        """Make all that is written within one transaction."""
        return self._store.transaction()

    # -- faults ----------------------------------------------------------------------------------

    def faults(self) -> list[Finding]:
        """Hold the ledger against itself and return what is not as it should be.

        Raises LedgerError for a ledger of a later format.
        """
        return faults(self._store)

    def mend(self) -> int:
        """Drop what `faults` finds, and mark what it was read from to be read again.

        Returns how many entries that is. Only for a ledger whose file is whole, and that nobody
        has an index of.
        """
        return mend(self._store)

    def moved(self) -> bool:
        """Say whether the path no longer leads to the file that is open."""
        return self._store.moved()

    def put_back(self) -> None:
        """Write a file that was moved or deleted anew, from what is still open."""
        self._store.put_back()

    # -- corpora ---------------------------------------------------------------------------------

    def declare(self, name: str, kind: str, recipe: str, embedder: str) -> None:
        """Register a corpus, or note its present recipe and embedder.

        What failed under another recipe is to be tried again.
        """
        with self._store.transaction():
            self._store.run(
                "UPDATE failures SET stamp = '' WHERE corpus ="
                " (SELECT name FROM corpora WHERE name = ? AND recipe != ?)",
                name,
                recipe,
            )
            self._store.run(
                "INSERT INTO corpora(name, kind, recipe, embedder) VALUES (?, ?, ?, ?)"
                " ON CONFLICT(name) DO UPDATE SET kind = excluded.kind,"
                " recipe = excluded.recipe, embedder = excluded.embedder",
                name,
                kind,
                recipe,
                embedder,
            )

    def served(self, name: str) -> tuple[str, str] | None:
        """Return the name and id of the embedder whose vectors serve a corpus; None: none yet."""
        row = self._store.one("SELECT served_name, served FROM corpora WHERE name = ?", name)
        return (row[0], row[1]) if row and row[1] else None

    def serve(self, name: str, embedder: str, embedder_id: str) -> None:
        """Note whose vectors serve a corpus from now on."""
        with self._store.transaction():
            self._store.run(
                "UPDATE corpora SET served_name = ?, served = ? WHERE name = ?",
                embedder,
                embedder_id,
                name,
            )

    def forget_corpus(self, name: str) -> None:
        """Remove a corpus and all that was known of it, save vectors (compaction drops those)."""
        with self._store.transaction():
            erasing.note_forgotten(self._store)
            self._store.run("DELETE FROM corpora WHERE name = ?", name)
            self._store.run("DELETE FROM gone WHERE corpus = ?", name)

    def corpora(self) -> list[str]:
        """Return the names of the registered corpora, sorted."""
        return [name for (name,) in self._store.all("SELECT name FROM corpora ORDER BY name")]

    def reconciled(
        self, name: str, problems: Sequence[Problem], roots: Mapping[str, str], now: float
    ) -> None:
        """Note how a whole look at `name` ended: its problems, its roots and their real paths."""
        listed = json.dumps([[problem.path, problem.reason] for problem in problems])
        with self._store.transaction():
            self._store.run(
                "UPDATE corpora SET problems = ?, roots = ?, last_reconcile = ? WHERE name = ?",
                listed,
                json.dumps(dict(roots)),
                now,
                name,
            )

    def roots_of(self, name: str) -> dict[str, str]:
        """Return the roots that the last whole look at `name` rested on, with their real paths."""
        row = self._store.one("SELECT roots FROM corpora WHERE name = ?", name)
        roots: dict[str, str] = json.loads(row[0]) if row else {}
        return roots

    def state_of(self, name: str) -> tuple[float | None, tuple[Problem, ...]]:
        """Return when the corpus was last fully looked at, and the problems met then."""
        row = self._store.one("SELECT last_reconcile, problems FROM corpora WHERE name = ?", name)
        if row is None:
            return None, ()
        return row[0], tuple(Problem(*pair) for pair in json.loads(row[1]))

    def put_floors(self, name: str, floors: Mapping[str, Floor]) -> None:
        """Keep the floors of a corpus, by mode, in place of those before."""
        rows = [(name, mode, json.dumps(floor.to_dict())) for mode, floor in floors.items()]
        with self._store.transaction():
            self._store.run("DELETE FROM floors WHERE corpus = ?", name)
            self._store.run_many("INSERT INTO floors(corpus, mode, floor) VALUES (?, ?, ?)", rows)

    def floors_of(self, name: str) -> dict[str, Floor]:
        """Return the floors kept of a corpus, by mode, of whatever formula."""
        kept = self._store.all("SELECT mode, floor FROM floors WHERE corpus = ?", name)
        return {mode: Floor.from_dict(json.loads(text)) for mode, text in kept}

    # -- what the index is built from ------------------------------------------------------------

    def last_record(self) -> int:
        """Return the highest row number of any record: what comes later is beyond it."""
        row = self._store.one("SELECT coalesce(max(id), 0) FROM records")
        return int(row[0]) if row else 0

    def gone_since(self, corpus: str, last: int, until: int = ALL_ROWS[1]) -> tuple[list[int], int]:
        """Return the rows of artifacts that went after word `last`, and the last word now.

        Only of the words up to `until`.
        """
        words = self._store.all(
            "SELECT artifact, id FROM gone WHERE id > ? AND id <= ? AND corpus = ?",
            last,
            until,
            corpus,
        )
        return sorted(number for number, _ in words), max((word for _, word in words), default=last)

    def forget_gone(self, corpus: str, last: int) -> None:
        """Forget what went up to word `last`: no index is kept that has not heard of it."""
        with self._store.transaction():
            self._store.run("DELETE FROM gone WHERE corpus = ? AND id <= ?", corpus, last)

    def artifact_rows(self, corpus: str, after: int = 0, limit: int = -1) -> list[tuple[Any, ...]]:
        """Return (row, artifact_id, name, pointer, fields, content, name terms) beyond a row.

        At most `limit` of them (-1: all), in the order of rows.
        """
        # The plus keeps SQLite from going through the whole corpus for the few beyond.
        return self._store.all(
            "SELECT id, artifact_id, name, pointer, fields, content, name_terms FROM artifacts"
            " WHERE +corpus = ? AND id > ? ORDER BY id LIMIT ?",
            corpus,
            after,
            limit,
        )

    def record_rows(
        self, corpus: str, after: int = 0, last: int = ALL_ROWS[1]
    ) -> list[tuple[Any, ...]]:
        """Return (artifact row, kind, surface_index, summary, metadata, digest, terms, counts).

        Only records of artifacts beyond one row and up to another, in the order of artifacts and
        their surfaces. The summary is the beginning of the text; terms are int32 ids, counts
        float32, both as bytes.
        """
        return self._store.all(
            "SELECT artifact, records.kind, surface_index, substr(text, 1, ?), metadata,"
            " records.digest, terms, counts FROM artifacts"
            " CROSS JOIN records ON records.artifact = artifacts.id"
            " WHERE +corpus = ? AND artifacts.id > ? AND artifacts.id <= ?"
            " ORDER BY artifacts.id, surface_index",
            _SUMMARY_CHARS,
            corpus,
            after,
            last,
        )

    # -- reading ---------------------------------------------------------------------------------

    def artifact(self, corpus: str, artifact_id: str) -> StoredArtifact | None:
        """Return one artifact by its exact id."""
        row = self._store.one(
            "SELECT corpus, artifact_id, name, pointer, body, digest, fields, indexed_at"
            " FROM artifacts WHERE corpus = ? AND artifact_id = ?",
            corpus,
            artifact_id,
        )
        if row is None:
            return None
        corpus, artifact_id, name, pointer, body, digest, fields, indexed_at = row
        unpacked = msgpack.unpackb(fields)
        return StoredArtifact(
            corpus, artifact_id, name, pointer, body, digest, unpacked, indexed_at
        )

    def artifact_ids(self, corpus: str, name: str, limit: int = 20) -> list[str]:
        """Return ids whose artifact is called `name`, or that end with it as a path."""
        rows = self._store.all(
            "SELECT artifact_id FROM artifacts WHERE corpus = ?"
            " AND (name = ? OR substr(artifact_id, -length(?) - 1) = '/' || ?)"
            " ORDER BY artifact_id LIMIT ?",
            corpus,
            name,
            name,
            name,
            limit,
        )
        return [artifact_id for (artifact_id,) in rows]

    def held(self, wanted: Wanted) -> list[tuple[Any, ...]]:
        """Return (corpus, artifact_id, name, pointer, indexed_at) in the order of references."""
        return self._store.all(
            "SELECT corpus, artifact_id, name, pointer, indexed_at FROM artifacts"
            " WHERE (corpus, artifact_id) > (?1, ?2) AND (?3 = '' OR corpus = ?3)"
            " AND (?4 = '' OR pointer = ?4 OR substr(pointer, 1, length(?4) + 1) = ?4 || '/')"
            " ORDER BY corpus, artifact_id LIMIT ?5",
            *wanted.after,
            wanted.corpus,
            wanted.under,
            wanted.limit,
        )

    def records_for_artifact(self, corpus: str, artifact_id: str) -> list[dict[str, Any]]:
        """Return the stored records of an artifact in plan order: the way to its siblings."""
        names = ("record_id", "kind", "granularity", "surface_index", "text")
        return [
            {**dict(zip(names, row, strict=False)), "metadata": msgpack.unpackb(row[5])}
            for row in self._store.all(
                "SELECT record_id, records.kind, granularity, surface_index, text, metadata"
                " FROM records JOIN artifacts ON artifacts.id = records.artifact"
                " WHERE corpus = ? AND artifact_id = ? ORDER BY surface_index",
                corpus,
                artifact_id,
            )
        ]

    def last_artifact(self) -> int:
        """Return the highest row number of any artifact."""
        row = self._store.one("SELECT coalesce(max(id), 0) FROM artifacts")
        return int(row[0]) if row else 0

    def artifacts_held(self, corpus: str) -> int:
        """Count the artifacts of a corpus."""
        row = self._store.one("SELECT count(*) FROM artifacts WHERE corpus = ?", corpus)
        return int(row[0]) if row else 0

    def counts(self, corpus: str, embedder: str) -> Counts:
        """Count what is held of a corpus."""
        records = "FROM records JOIN artifacts ON artifacts.id = records.artifact"
        row = self._store.one(
            "SELECT (SELECT count(*) FROM artifacts WHERE corpus = ?1),"
            f" (SELECT count(*) {records} WHERE corpus = ?1),"
            f" (SELECT count(*) {records} JOIN vectors ON vectors.digest = records.digest"
            "   AND embedder = ?2 WHERE corpus = ?1),"
            " (SELECT count(*) FROM failures WHERE corpus = ?1)",
            corpus,
            embedder,
        )
        return Counts(*(row or (0, 0, 0, 0)))

    # -- generations, jobs, upkeep ---------------------------------------------------------------

    def generation(self) -> int:
        """Return the number of the last published snapshot."""
        row = self._store.one("SELECT value FROM counters WHERE name = 'generation'")
        return int(row[0]) if row else 0

    def identity(self) -> int:
        """Return the number that this ledger has and no other."""
        with self._store.transaction():
            self._store.run("INSERT OR IGNORE INTO counters VALUES ('identity', ?)", randbits(62))
        row = self._store.one("SELECT value FROM counters WHERE name = 'identity'")
        return int(row[0]) if row else 0

    def go_on(self, generation: int, vocabulary: Mapping[str, int]) -> None:
        """Begin a new ledger where another ended: with its generation and its term ids."""
        with self._store.transaction():
            self._store.run("UPDATE counters SET value = ? WHERE name = 'generation'", generation)
            self.terms.adopt(vocabulary)

    def next_generation(self) -> int:
        """Count one more published snapshot and return its number."""
        with self._store.transaction():
            self._store.run("UPDATE counters SET value = value + 1 WHERE name = 'generation'")
        return self.generation()

    def log_job(self, kind: str, corpus: str, report: str, started: float, took_ms: float) -> None:
        """Keep a line about a finished job; the last thousand stay."""
        with self._store.transaction():
            inserted = self._store.run(
                "INSERT INTO jobs(kind, corpus, report, started, took_ms) VALUES (?, ?, ?, ?, ?)",
                kind,
                corpus,
                report,
                started,
                took_ms,
            )
            oldest = (inserted.lastrowid or 0) - _JOBS_KEPT
            self._store.run("DELETE FROM jobs WHERE id <= ?", oldest)

    def forget_unused_terms(self) -> None:
        """Blank the words that nothing stored holds any more."""
        used = np.zeros(len(self.terms.table()), np.bool_)
        for statement in ("SELECT terms FROM records", "SELECT name_terms FROM artifacts"):
            for packed in self._store.in_parts(statement):
                used[np.frombuffer(b"".join(ids for (ids,) in packed), np.int32)] = True
        self.terms.blank_all_but(used)

    # -- erasing ---------------------------------------------------------------------------------

    def forgotten(self) -> tuple[int, int]:
        """Count how often something was forgotten, and replaced, since the file was written anew.

        What it held then may still be legible in the file.
        """
        return erasing.counted(self._store)

    def vacuum(self, stop: Callable[[], bool] | None = None) -> None:
        """Write the whole file anew, so that it holds what there is and no more, and fold its log.

        `stop` is asked now and then whether to leave it at that. Raises sqlite3.OperationalError
        where it was stopped.
        """
        counted = erasing.counted(self._store)
        self._store.vacuum(stop)
        erasing.settle(self._store, counted)
        self.fold()

    def log_grew(self) -> bool:
        """Say whether the write-ahead log holds more than `fold` left of it."""
        return self._store.log_grew()

    def fold(self) -> bool:
        """Fold the write-ahead log into the file and empty it; wait for nobody.

        Says whether it was done, and no reader in the way.
        """
        return self._store.fold()
