"""Failures: what could not be read, why, and since when."""

from __future__ import annotations

from collections.abc import Iterable

from irdaemon.ledger.entries import spoken_for
from irdaemon.ledger.rows import Failure, storable
from irdaemon.ledger.store import Store
from irdaemon.types import Scan


class Failures:
    """Keep one row per failed entry until it is read, gone, or its stamp changes."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, failure: Failure) -> bool:
        """Note a failure; one that is already known keeps its `since` and was tried once more.

        Returns whether it is new.
        """
        with self._store.transaction():
            row = self._store.one(
                "INSERT INTO failures(corpus, key, path, reason, stamp, since)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(corpus, key) DO UPDATE SET"
                " path = excluded.path, reason = excluded.reason, stamp = excluded.stamp,"
                " tries = tries + 1 RETURNING tries",
                failure.corpus,
                failure.key,
                failure.path,
                storable(failure.reason),
                failure.stamp,
                failure.since,
            )
        return row == (1,)

    def drop_absent(self, corpus: str, found: Iterable[str], scan: Scan) -> None:
        """Drop the failures of entries that a scan no longer found where it looked."""
        present = set(found)
        gone = [
            (corpus, key)
            for key, path in self._store.all(
                "SELECT key, path FROM failures WHERE corpus = ?", corpus
            )
            if key not in present and spoken_for(path, scan)
        ]
        if gone:
            with self._store.transaction():
                self._store.run_many("DELETE FROM failures WHERE corpus = ? AND key = ?", gone)

    def retry(self) -> int:
        """Forget the stamps of all failures, so that the next look reads them again."""
        with self._store.transaction():
            return self._store.run("UPDATE failures SET stamp = ''").rowcount

    def count(self, corpus: str) -> int:
        """Count the failures of a corpus."""
        row = self._store.one("SELECT count(*) FROM failures WHERE corpus = ?", corpus)
        return int(row[0]) if row else 0

    def all(self, corpus: str | None = None, at_most: int = -1) -> list[Failure]:
        """Return failures, of one corpus or of all, oldest first; `at_most` so many (-1: all)."""
        rows = self._store.all(
            "SELECT corpus, path, key, reason, stamp, since, tries FROM failures"
            " WHERE corpus = coalesce(?, corpus) ORDER BY since, corpus, key LIMIT ?",
            corpus,
            at_most,
        )
        return [Failure(*row) for row in rows]
