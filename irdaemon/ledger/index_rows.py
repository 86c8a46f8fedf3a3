"""The rows from which an index is built: new ones, and those deleted since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irdaemon.ledger.store import Store

# Vectors, keyed by text digest and embedder.

ALL_ROWS = (0, 2**63 - 1)
# Vectors that no record needs from its corpus' present or served embedder.
UNUSED = (
    "NOT EXISTS (SELECT 1 FROM records JOIN artifacts ON artifacts.id = records.artifact"
    " JOIN corpora ON corpora.name = artifacts.corpus WHERE records.digest = vectors.digest"
    " AND vectors.embedder IN (corpora.embedder, corpora.served))"
)


class Vectors:
    """Keep one vector per (text digest, embedder id), shared by records with equal text."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, embedder: str, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store the vectors of texts, one float32 row per digest."""
        # An endpoint may return NaN; with such a vector no ranking would work.
        numbers = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
        rows = [(d, embedder, v.tobytes()) for d, v in zip(digests, numbers, strict=True)]
        self._store.write_many("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def get(self, embedder: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of digests, as float32 bytes."""
        statement = "SELECT digest, vector FROM vectors WHERE embedder = ? AND digest IN"
        return dict(self._store.select_in(statement, digests, embedder))

    def find_dimension(self, embedder: str) -> int:
        """Return the dimension of an embedder's vectors; 0 where there are none."""
        row = self._store.fetch_one(
            "SELECT length(vector) FROM vectors WHERE embedder = ? LIMIT 1", (embedder,)
        )
        return int(row[0]) // 4 if row else 0

    def iterate(self, embedder: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield (digest, vector) of an embedder; for thousands of vectors faster than `get`."""
        return self._store.iterate_rows(
            "SELECT digest, vector FROM vectors WHERE embedder = ?", (embedder,)
        )

    def list_missing(
        self, corpus: str, embedder: str, limit: int, rows: tuple[int, int] = ALL_ROWS
    ) -> list[tuple[int, bytes, str, bytes | None]]:
        """Return up to `limit` (row, digest, text, prompts) of records that have no vector yet.

        Newest first: what was just edited is found first. Only rows between the two numbers, both
        excluded.
        """
        # CROSS makes SQLite read records from the newest and stop at the limit; otherwise it
        # would read all artifacts and sort.
        return [
            (number, digest, text, prompts)
            for number, digest, text, prompts in self._store.fetch_all(
                "SELECT records.id, records.digest, text, records.prompts FROM records"
                " CROSS JOIN artifacts ON artifacts.id = records.artifact"
                " WHERE records.id > ? AND records.id < ? AND corpus = ?"
                " AND NOT EXISTS (SELECT 1 FROM vectors"
                "  WHERE vectors.digest = records.digest AND embedder = ?)"
                " ORDER BY records.id DESC LIMIT ?",
                (*rows, corpus, embedder, limit),
            )
        ]

    def drop_unused(self) -> int:
        """Drop vectors that no record needs from its corpus' present or served embedder."""
        return self._store.write(f"DELETE FROM vectors WHERE {UNUSED}")


SUMMARY_CHARS = 400
# A chunk of usual size is kept whole: any part of it may be what matched.
_CHUNK_CHARS = 1_200


class RecordText(NamedTuple):
    """The whole text of a record, by its artifact's row and its place in the plan."""

    artifact: int
    surface: int
    record_id: str
    granularity: str
    text: str


class IndexRows:
    """Read artifacts and records in the order of their row numbers, and tombstones."""

    def __init__(self, store: Store):
        self._store = store

    def find_last_record(self) -> int:
        """Return the highest row number of any record; later records have higher ones."""
        return self._store.read_number("SELECT coalesce(max(id), 0) FROM records")

    def list_tombstones(
        self, corpus: str, last: int, until: int = ALL_ROWS[1]
    ) -> tuple[list[int], int]:
        """Return the rows of artifacts deleted after tombstone `last`, and the last tombstone.

        Only of tombstones up to `until`.
        """
        tombstones = self._store.fetch_all(
            "SELECT artifact, id FROM gone WHERE id > ? AND id <= ? AND corpus = ?",
            (last, until, corpus),
        )
        numbers = sorted(number for number, _ in tombstones)
        return numbers, max((each for _, each in tombstones), default=last)

    def drop_tombstones(self, corpus: str, last: int) -> None:
        """Drop the tombstones up to `last`, once every stored index has applied them."""
        self._store.write("DELETE FROM gone WHERE corpus = ? AND id <= ?", (corpus, last))

    def list_artifacts(
        self, corpus: str, after: int = 0, limit: int = -1, last: int = ALL_ROWS[1]
    ) -> list[tuple[Any, ...]]:
        """Return (row, artifact_id, name, pointer, fields, content, name terms) beyond a row.

        At most `limit` of them (-1: all) and none beyond the row `last`, in the order of rows.
        """
        # The plus keeps SQLite from reading the whole corpus to find the few new rows.
        return self._store.fetch_all(
            "SELECT id, artifact_id, name, pointer, fields, content, name_terms FROM artifacts"
            " WHERE +corpus = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?",
            (corpus, after, last, limit),
        )

    def list_texts(self, corpus: str, after: int, last: int) -> list[RecordText]:
        """Return the whole texts of the records that `list_records` returns."""
        rows = self._store.fetch_all(
            "SELECT artifact, surface_index, record_id, granularity, text FROM artifacts"
            " CROSS JOIN records ON records.artifact = artifacts.id"
            " WHERE +corpus = ? AND artifacts.id > ? AND artifacts.id <= ?",
            (corpus, after, last),
        )
        return [RecordText(*row) for row in rows]

    def find_literal(
        self, artifacts: Sequence[int], literal: str, ignore_case: bool
    ) -> Iterator[tuple[int, int]]:
        """Yield (artifact row, surface_index) of the records whose text holds a literal."""
        statement = "SELECT artifact, surface_index{} FROM records WHERE{} artifact IN"
        if not ignore_case:
            held = statement.format("", " instr(text, ?) AND")
            yield from self._store.select_in(held, artifacts, literal)
            return
        folded = literal.casefold()  # SQLite folds only ASCII
        for artifact, surface, text in self._store.select_in(
            statement.format(", text", ""), artifacts
        ):
            if folded in text.casefold():
                yield artifact, surface

    def list_records(
        self, corpus: str, after: int = 0, last: int = ALL_ROWS[1]
    ) -> list[tuple[Any, ...]]:
        """Return (artifact row, kind, surface_index, summary, metadata, digest, terms, counts).

        Only records of artifacts beyond one row and up to another, in the order of artifacts and
        their surfaces. The summary is the beginning of the text, 1,200 characters of chunks,
        documents and symbols and 400 of others; terms are int32 ids, counts float32, both as bytes.
        """
        return self._store.fetch_all(
            "SELECT artifact, records.kind, surface_index,"
            " substr(text, 1, CASE WHEN records.kind IN ('chunk', 'document', 'symbol')"
            " THEN ? ELSE ? END),"
            " metadata, records.digest, terms, counts FROM artifacts"
            " CROSS JOIN records ON records.artifact = artifacts.id"
            " WHERE +corpus = ? AND artifacts.id > ? AND artifacts.id <= ?"
            " ORDER BY artifacts.id, surface_index",
            (_CHUNK_CHARS, SUMMARY_CHARS, corpus, after, last),
        )
