"""Synopses written by a model: records like others, kept when their artifact is read again.

Handing in a new one marks the artifact's entry to be read again, which stores the synopsis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgpack

from irdaemon.ledger.store import Store

_DAY, _ASKED = "synopsis_day", "synopses_asked"


class Synopses:
    """The synopses of every corpus: those handed in but not yet stored, else the stored ones."""

    def __init__(self, store: Store):
        self._store = store
        self._handed_in: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}

    def find(
        self, corpus: str, artifact_id: str, kind: str
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Return the text and metadata of an artifact's synopsis, or None."""
        if (corpus, artifact_id) in self._handed_in:
            return self._handed_in[corpus, artifact_id]
        row = self._store.fetch_one(
            "SELECT text, metadata FROM records JOIN artifacts ON artifacts.id = records.artifact"
            " WHERE corpus = ? AND artifact_id = ? AND surface_index = 0 AND records.kind = ?",
            (corpus, artifact_id, kind),
        )
        return (row[0], msgpack.unpackb(row[1])) if row else None

    def hand_in(
        self, corpus: str, artifact_id: str, text: str, metadata: Mapping[str, Any]
    ) -> None:
        """Set an artifact's synopsis and mark it to be read again."""
        self._handed_in[corpus, artifact_id] = (text, metadata)
        self._store.write(
            "UPDATE entries SET stamp = '', cursor = NULL WHERE id ="
            " (SELECT entry FROM artifacts WHERE corpus = ? AND artifact_id = ?)",
            (corpus, artifact_id),
        )

    def settle(self, corpus: str) -> None:
        """Drop the synopses handed in for a corpus: its entries were read."""
        self._handed_in = {key: each for key, each in self._handed_in.items() if key[0] != corpus}

    def count_requests(self, day: int) -> int:
        """Return how often a model was asked on a day (days since 1970)."""
        found = dict(
            self._store.fetch_all(
                "SELECT name, value FROM counters WHERE name IN (?, ?)", (_DAY, _ASKED)
            )
        )
        return int(found.get(_ASKED, 0)) if found.get(_DAY) == day else 0

    def add_requests(self, day: int, times: int) -> None:
        """Count how often a model was asked on a day."""
        times += self.count_requests(day)
        with self._store.transaction():
            for name, value in ((_DAY, day), (_ASKED, times)):
                self._store.run("INSERT OR REPLACE INTO counters VALUES (?, ?)", (name, value))
