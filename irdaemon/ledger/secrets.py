"""Where secrets lie: path, line and kind. Never what they are, nor a hash of it."""

from __future__ import annotations

from collections.abc import Iterable

from irdaemon.ledger.rows import PlacedSecret, Secret, storable
from irdaemon.ledger.store import Store


class Secrets:
    """Keep a row for each line that holds a secret, as long as the entry it was read from."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, entry: int, secrets: Iterable[Secret], *, added: bool) -> None:
        """Note an entry's secrets, in the caller's transaction: `added` to those that are known."""
        if not added:
            self._store.run("DELETE FROM secrets WHERE entry = ?", entry)
        self._store.run_many(
            "INSERT OR IGNORE INTO secrets(entry, path, line, kind) VALUES (?, ?, ?, ?)",
            [(entry, storable(each.path), each.line, each.kind) for each in secrets],
        )

    def all(self, corpus: str | None = None) -> list[PlacedSecret]:
        """Return where secrets lie, in one corpus or in all, by path and line."""
        rows = self._store.all(
            "SELECT corpus, secrets.path, line, kind FROM secrets"
            " JOIN entries ON entries.id = secrets.entry WHERE corpus = coalesce(?, corpus)"
            " ORDER BY corpus, secrets.path, line, kind",
            corpus,
        )
        return [PlacedSecret(*row) for row in rows]
