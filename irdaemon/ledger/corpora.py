"""Corpora: their registration, serving embedders, last scans and floors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from irdaemon.ledger.entries import is_authoritative
from irdaemon.ledger.prompts import USE, ExpectedPrompts
from irdaemon.ledger.store import Store
from irdaemon.types import Floor, Problem, Scan


class Corpora:
    """The corpora, one row for each, by name."""

    def __init__(self, store: Store, prompts: ExpectedPrompts):
        self._store = store
        self._prompts = prompts
        # When the last scan of a corpus ended, if its result is the stored one.
        self._scanned_at: dict[str, float] = {}

    def declare(self, name: str, kind: str, recipe: str, embedder: str) -> None:
        """Register a corpus, or note its current recipe and embedder.

        Entries that failed under another recipe are read again at the next scan.
        """
        with self._store.transaction():
            self._store.run(
                "UPDATE failures SET stamp = '' WHERE corpus ="
                " (SELECT name FROM corpora WHERE name = ? AND recipe != ?)",
                (name, recipe),
            )
            self._store.run(
                "INSERT INTO corpora(name, kind, recipe, embedder) VALUES (?, ?, ?, ?)"
                " ON CONFLICT(name) DO UPDATE SET kind = excluded.kind,"
                " recipe = excluded.recipe, embedder = excluded.embedder",
                (name, kind, recipe, embedder),
            )

    def find_served(self, name: str) -> tuple[str, str] | None:
        """Return the name and id of the embedder whose vectors serve a corpus, or None."""
        row = self._store.fetch_one(
            "SELECT served_name, served FROM corpora WHERE name = ?", (name,)
        )
        return (row[0], row[1]) if row and row[1] else None

    def put_served(self, name: str, embedder: str, embedder_id: str) -> None:
        """Note the embedder whose vectors serve a corpus from now on."""
        self._store.write(
            "UPDATE corpora SET served_name = ?, served = ? WHERE name = ?",
            (embedder, embedder_id, name),
        )

    def put_spec(self, name: str, spec: Mapping[str, Any]) -> None:
        """Store the spec of a corpus' source, plain data, replacing the previous one."""
        self._store.write("UPDATE corpora SET spec = ? WHERE name = ?", (json.dumps(spec), name))

    def read_spec(self, name: str) -> dict[str, Any] | None:
        """Return the spec of a corpus' source, or None."""
        row = self._store.fetch_one("SELECT spec FROM corpora WHERE name = ?", (name,))
        return json.loads(row[0]) if row and row[0] else None

    def read_recipe(self, name: str) -> str:
        """Return the recipe that a corpus was last indexed by, "" for an unknown corpus."""
        row = self._store.fetch_one("SELECT recipe FROM corpora WHERE name = ?", (name,))
        return str(row[0]) if row else ""

    def forget(self, name: str) -> None:
        """Remove a corpus and all its data except vectors (compaction drops those).

        Prompts given by people stay: no source has them if the corpus is added again.
        """
        with self._store.transaction():
            self._store.note_forgotten()
            self._store.run("DELETE FROM corpora WHERE name = ?", (name,))
            self._store.run("DELETE FROM gone WHERE corpus = ?", (name,))
            self._store.run(
                "DELETE FROM expected_prompts WHERE corpus = ? AND provenance = ?", (name, USE)
            )
        self._scanned_at.pop(name, None)
        self._prompts.drop_cached()

    def list_names(self) -> list[str]:
        """Return the names of the registered corpora, sorted."""
        return self._store.fetch_column("SELECT name FROM corpora ORDER BY name")

    def record_scan(
        self, name: str, problems: Sequence[Problem], roots: Mapping[str, str], now: float
    ) -> bool:
        """Record the result of a whole scan of `name`: problems, roots and their real paths.

        If the result equals the last one, only the time is noted, in memory until `save_scans`, so
        that a quiet hour writes nothing. Returns whether the result differs.
        """
        ended = json.dumps([[each.path, each.reason] for each in problems]), json.dumps(dict(roots))
        stored = self._store.fetch_one(
            "SELECT problems, roots FROM corpora WHERE name = ? AND last_reconcile IS NOT NULL",
            (name,),
        )
        if stored == ended:
            self._scanned_at[name] = now
            return False
        self._scanned_at.pop(name, None)
        self._store.write(
            "UPDATE corpora SET problems = ?, roots = ?, last_reconcile = ? WHERE name = ?",
            (*ended, now, name),
        )
        return True

    def save_scans(self) -> None:
        """Store when each last scan ended."""
        if self._scanned_at:
            self._store.write_many(
                "UPDATE corpora SET last_reconcile = ? WHERE name = ?",
                [(at, name) for name, at in self._scanned_at.items()],
            )
            self._scanned_at.clear()

    def drop_mended(self, name: str, scan: Scan) -> None:
        """Drop the problems of `name` in a scanned part that the scan did not find again."""
        _, known = self.read_state(name)
        left = [problem for problem in known if not is_authoritative(problem.path, scan)]
        if len(left) < len(known):
            listed = json.dumps([[problem.path, problem.reason] for problem in left])
            self._store.write("UPDATE corpora SET problems = ? WHERE name = ?", (listed, name))

    def read_roots(self, name: str) -> dict[str, str]:
        """Return the roots of the last whole scan of `name`, with their real paths."""
        row = self._store.fetch_one("SELECT roots FROM corpora WHERE name = ?", (name,))
        roots: dict[str, str] = json.loads(row[0]) if row else {}
        return roots

    def read_state(self, name: str) -> tuple[float | None, tuple[Problem, ...]]:
        """Return when the last whole scan of a corpus ended (Unix seconds), and its problems."""
        row = self._store.fetch_one(
            "SELECT last_reconcile, problems FROM corpora WHERE name = ?", (name,)
        )
        if row is None:
            return None, ()
        return self._scanned_at.get(name, row[0]), tuple(
            Problem(*pair) for pair in json.loads(row[1])
        )

    def put_floors(self, name: str, floors: Mapping[str, Floor]) -> None:
        """Store the floors of a corpus, by mode, replacing the previous ones."""
        rows = [(name, mode, json.dumps(floor.to_dict())) for mode, floor in floors.items()]
        with self._store.transaction():
            self._store.run("DELETE FROM floors WHERE corpus = ?", (name,))
            self._store.run_many("INSERT INTO floors(corpus, mode, floor) VALUES (?, ?, ?)", rows)

    def read_floors(self, name: str) -> dict[str, Floor]:
        """Return the stored floors of a corpus by mode, whichever formula made them."""
        kept = self._store.fetch_all("SELECT mode, floor FROM floors WHERE corpus = ?", (name,))
        return {mode: Floor.from_dict(json.loads(text)) for mode, text in kept}
