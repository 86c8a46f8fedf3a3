"""Vectors, keyed by what was embedded and by whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.ledger.store import Store

ALL_ROWS = (0, 2**63 - 1)
# Vectors that no record needs from the embedder its corpus has or is served by.
UNUSED = (
    "NOT EXISTS (SELECT 1 FROM records JOIN artifacts ON artifacts.id = records.artifact"
    " JOIN corpora ON corpora.name = artifacts.corpus WHERE records.digest = vectors.digest"
    " AND vectors.embedder IN (corpora.embedder, corpora.served))"
)
_DIGESTS_PER_QUERY = 500


class Vectors:
    """Keep one vector per (text digest, embedder id), whichever records share the text."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, embedder: str, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store the vectors of texts, one float32 row per digest."""
        # An endpoint may answer with what is no number; next to such a vector nothing would rank.
        numbers = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
        rows = [(d, embedder, v.tobytes()) for d, v in zip(digests, numbers, strict=True)]
        with self._store.transaction():
            self._store.run_many("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def get(self, embedder: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of digests, as float32 bytes."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(digests), _DIGESTS_PER_QUERY):
            part = digests[start : start + _DIGESTS_PER_QUERY]
            marks = ",".join("?" * len(part))
            wanted = f"embedder = ? AND digest IN ({marks})"
            rows = self._store.all(
                f"SELECT digest, vector FROM vectors WHERE {wanted}", embedder, *part
            )
            found.update((digest, vector) for digest, vector in rows)
        return found

    def dimension(self, embedder: str) -> int:
        """Return how many numbers a vector of an embedder has; 0 where there is none."""
        row = self._store.one(
            "SELECT length(vector) FROM vectors WHERE embedder = ? LIMIT 1", embedder
        )
        return int(row[0]) // 4 if row else 0

    def all(self, embedder: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield (digest, vector) of an embedder: faster than `get` from some thousands on."""
        return self._store.each("SELECT digest, vector FROM vectors WHERE embedder = ?", embedder)

    def missing(
        self, corpus: str, embedder: str, limit: int, rows: tuple[int, int] = ALL_ROWS
    ) -> list[tuple[int, bytes, str, bytes | None]]:
        """Return up to `limit` (row, digest, text, learned) of records that have no vector yet.

        Newest first: what was just edited is found first. Only rows between the two numbers, both
        excluded.
        """
        # CROSS makes SQLite go through the records from the newest on and stop at the limit; left
        # to itself it goes through all artifacts and sorts.
        return [
            (number, digest, text, learned)
            for number, digest, text, learned in self._store.all(
                "SELECT records.id, records.digest, text, learned FROM records"
                " CROSS JOIN artifacts ON artifacts.id = records.artifact"
                " WHERE records.id > ? AND records.id < ? AND corpus = ?"
                " AND NOT EXISTS (SELECT 1 FROM vectors"
                "  WHERE vectors.digest = records.digest AND embedder = ?)"
                " ORDER BY records.id DESC LIMIT ?",
                *rows,
                corpus,
                embedder,
                limit,
            )
        ]

    def drop_unused(self) -> int:
        """Drop vectors that no record needs from the embedder its corpus has or is served by."""
        with self._store.transaction():
            return self._store.run(f"DELETE FROM vectors WHERE {UNUSED}").rowcount
