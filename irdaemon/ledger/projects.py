"""Projects that entries are about, and whether each had opted out when it was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from irdaemon.ledger.rows import storable
from irdaemon.ledger.store import Store


class Projects:
    """Keep a row for each entry and project: what to read again when a marker comes or goes."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, entry: int, projects: Mapping[str, bool], *, added: bool) -> None:
        """Note the projects of an entry, in the caller's transaction: `added` to the known ones."""
        if not added:
            self._store.run("DELETE FROM projects WHERE entry = ?", entry)
        self._store.run_many(
            "INSERT OR REPLACE INTO projects(entry, path, opted_out) VALUES (?, ?, ?)",
            [(entry, storable(path), out) for path, out in projects.items()],
        )

    def reread_changed(self, corpus: str, opted_out: Callable[[str], bool]) -> None:
        """Mark the entries whose project opted out, or in again, since they were read."""
        known = self._store.all(
            "SELECT DISTINCT projects.path, opted_out FROM projects"
            " JOIN entries ON entries.id = projects.entry WHERE corpus = ?",
            corpus,
        )
        changed = [(corpus, path, was) for path, was in known if opted_out(path) != bool(was)]
        if changed:
            with self._store.transaction():
                self._store.run_many(
                    "UPDATE entries SET stamp = '', cursor = NULL WHERE corpus = ? AND id IN"
                    " (SELECT entry FROM projects WHERE path = ? AND opted_out = ?)",
                    changed,
                )
