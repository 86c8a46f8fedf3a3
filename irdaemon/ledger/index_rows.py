"""What the index is built from: the rows beyond those that it has, and those deleted since."""

from __future__ import annotations

from typing import Any, NamedTuple

from irdaemon.ledger.store import Store
from irdaemon.ledger.vectors import ALL_ROWS

SUMMARY_CHARS = 400
# Of a document's chunks all of it, as these are usually cut: any of it may be what matched.
_CHUNK_CHARS = 1_200


class RecordText(NamedTuple):
    """The whole text of a record, by its artifact's row and its place in the plan."""

    artifact: int
    surface: int
    record_id: str
    granularity: str
    text: str


class IndexRows:
    """Give artifacts and records in the order of their row numbers, and tombstones."""

    def __init__(self, store: Store):
        self._store = store

    def last_record(self) -> int:
        """Return the highest row number of any record; later records have higher ones."""
        row = self._store.one("SELECT coalesce(max(id), 0) FROM records")
        return int(row[0]) if row else 0

    def tombstones_since(
        self, corpus: str, last: int, until: int = ALL_ROWS[1]
    ) -> tuple[list[int], int]:
        """Return the rows of artifacts deleted after tombstone `last`, and the last tombstone.

        Only of tombstones up to `until`.
        """
        tombstones = self._store.all(
            "SELECT artifact, id FROM gone WHERE id > ? AND id <= ? AND corpus = ?",
            last,
            until,
            corpus,
        )
        numbers = sorted(number for number, _ in tombstones)
        return numbers, max((each for _, each in tombstones), default=last)

    def drop_tombstones(self, corpus: str, last: int) -> None:
        """Drop the tombstones up to `last`, which every index that is kept has applied."""
        with self._store.transaction():
            self._store.run("DELETE FROM gone WHERE corpus = ? AND id <= ?", corpus, last)

    def artifacts(self, corpus: str, after: int = 0, limit: int = -1) -> list[tuple[Any, ...]]:
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

    def artifacts_until(self, corpus: str, after: int, last: int) -> list[tuple[Any, ...]]:
        """Return as `artifacts` does those beyond one row and up to another."""
        return self._store.all(
            "SELECT id, artifact_id, name, pointer, fields, content, name_terms FROM artifacts"
            " WHERE +corpus = ? AND id > ? AND id <= ? ORDER BY id",
            corpus,
            after,
            last,
        )

    def texts(self, corpus: str, after: int, last: int) -> list[RecordText]:
        """Return the whole texts of the records that `records` returns."""
        rows = self._store.all(
            "SELECT artifact, surface_index, record_id, granularity, text FROM artifacts"
            " CROSS JOIN records ON records.artifact = artifacts.id"
            " WHERE +corpus = ? AND artifacts.id > ? AND artifacts.id <= ?",
            corpus,
            after,
            last,
        )
        return [RecordText(*row) for row in rows]

    def records(
        self, corpus: str, after: int = 0, last: int = ALL_ROWS[1]
    ) -> list[tuple[Any, ...]]:
        """Return (artifact row, kind, surface_index, summary, metadata, digest, terms, counts).

        Only records of artifacts beyond one row and up to another, in the order of artifacts and
        their surfaces. The summary is the beginning of the text, 1,200 characters of chunks,
        documents and symbols and 400 of others; terms are int32 ids, counts float32, both as bytes.
        """
        return self._store.all(
            "SELECT artifact, records.kind, surface_index,"
            " substr(text, 1, CASE WHEN records.kind IN ('chunk', 'document', 'symbol')"
            " THEN ? ELSE ? END),"
            " metadata, records.digest, terms, counts FROM artifacts"
            " CROSS JOIN records ON records.artifact = artifacts.id"
            " WHERE +corpus = ? AND artifacts.id > ? AND artifacts.id <= ?"
            " ORDER BY artifacts.id, surface_index",
            _CHUNK_CHARS,
            SUMMARY_CHARS,
            corpus,
            after,
            last,
        )
