"""Gates: whether the expected prompts of a provenance count in a corpus and in its parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from irdaemon.ledger.store import Store


class Gate(NamedTuple):
    """Whether prompts of a provenance count in a corpus, why, and since when (Unix seconds)."""

    is_open: bool = True
    report: Mapping[str, Any] = {}
    at: float = 0.0


class Gates:
    """Keep the gates of each corpus, which its parts have as well."""

    def __init__(self, store: Store):
        self._store = store
        # They are needed for each artifact that is stored.
        self._held: dict[str, Mapping[str, Gate]] = {}

    def drop_cached(self) -> None:
        """Drop the gates in memory, to read them again."""
        self._held.clear()

    def read(self, corpus: str) -> Mapping[str, Gate]:
        """Return the gates of a corpus that were ever set, by provenance."""
        base = corpus.partition("@")[0]
        if base not in self._held:
            rows = self._store.all(
                "SELECT provenance, is_open, report, at FROM prompt_gates WHERE corpus = ?", (base,)
            )
            self._held[base] = {
                provenance: Gate(bool(is_open), json.loads(report), at)
                for provenance, is_open, report, at in rows
            }
        return self._held[base]

    def put(self, corpus: str, provenance: str, gate: Gate) -> None:
        """Keep a gate in place of the one before, inside the caller's transaction."""
        self._store.run(
            "INSERT OR REPLACE INTO prompt_gates VALUES (?, ?, ?, ?, ?)",
            (corpus, provenance, gate.is_open, json.dumps(dict(gate.report)), gate.at),
        )
        self._held.pop(corpus, None)

    def list_reached(self, corpus: str) -> list[str]:
        """Return the names of a corpus and of its parts."""
        return self._store.column(
            "SELECT name FROM corpora WHERE name = ?1"
            " OR substr(name, 1, length(?1) + 1) = ?1 || '@'",
            (corpus,),
        )
