"""Entries and the artifacts read from them: what is known, what changed, what to store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from irdaemon.ledger.artifacts import insert_artifact, insert_records
from irdaemon.ledger.links import ArtifactLinks
from irdaemon.ledger.prompts import ExpectedPrompts
from irdaemon.ledger.rows import (
    Decomposed,
    Delta,
    Expected,
    Failure,
    KnownEntry,
    Record,
    RecordTerms,
    Secret,
    TabledTerms,
    Upsert,
    make_storable,
    mark_head,
    pack,
    pack_stated,
)
from irdaemon.ledger.store import Store
from irdaemon.ledger.terms import Terms, TermTable
from irdaemon.source.opening import is_within
from irdaemon.types import Entry, Scan

if TYPE_CHECKING:
    from irclient.results import SecretLocation

# The projects of entries, and whether each had opted out when it was read.


class Projects:
    """Keep a row for each entry and project, to read it again when a marker comes or goes."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, entry: int, projects: Mapping[str, bool], *, added: bool) -> None:
        """Store an entry's projects in the caller's transaction; `added` keeps the known ones."""
        if not added:
            self._store.run("DELETE FROM projects WHERE entry = ?", (entry,))
        self._store.run_many(
            "INSERT OR REPLACE INTO projects(entry, path, opted_out) VALUES (?, ?, ?)",
            [(entry, make_storable(path), out) for path, out in projects.items()],
        )

    def list_places(self) -> list[tuple[str, str]]:
        """Return the directories of projects, with the stamp of each entry."""
        return self._store.fetch_all(
            "SELECT projects.path, entries.stamp FROM projects"
            " JOIN entries ON entries.id = projects.entry WHERE NOT opted_out"
        )

    def mark_changed(self, corpus: str, opted_out: Callable[[str], bool]) -> None:
        """Mark the entries whose project opted out, or in again, since they were read."""
        known = self._store.fetch_all(
            "SELECT DISTINCT projects.path, opted_out FROM projects"
            " JOIN entries ON entries.id = projects.entry WHERE corpus = ?",
            (corpus,),
        )
        self._store.write_many(
            "UPDATE entries SET stamp = '', cursor = NULL WHERE corpus = ? AND id IN"
            " (SELECT entry FROM projects WHERE path = ? AND opted_out = ?)",
            [(corpus, path, was) for path, was in known if opted_out(path) != bool(was)],
        )


# Where secrets are: path, line and kind; never the secrets, nor a hash of them.


class Secrets:
    """Keep a row for each line that holds a secret, as long as the entry it was read from."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, entry: int, secrets: Iterable[Secret], *, added: bool) -> None:
        """Store an entry's secrets in the caller's transaction; `added` keeps the known ones."""
        if not added:
            self._store.run("DELETE FROM secrets WHERE entry = ?", (entry,))
        self._store.run_many(
            "INSERT OR IGNORE INTO secrets(entry, path, line, kind) VALUES (?, ?, ?, ?)",
            [(entry, make_storable(each.path), each.line, each.kind) for each in secrets],
        )

    def list_all(self, corpus: str | None = None) -> list[SecretLocation]:
        """Return where secrets are, in one corpus or in all, by path and line."""
        from irclient.results import SecretLocation  # reader processes never need it

        rows = self._store.fetch_all(
            "SELECT corpus, secrets.path, line, kind FROM secrets"
            " JOIN entries ON entries.id = secrets.entry WHERE corpus = coalesce(?, corpus)"
            " ORDER BY corpus, secrets.path, line, kind",
            (corpus,),
        )
        return [SecretLocation(*row) for row in rows]


# A file written this shortly before its stamp was taken may change again under the same stamp.
RACY_NS = 2_000_000_000
HELD_ELSEWHERE = "held_by_another_entry"


class Entries:
    """Keep the entries of every corpus, each with its artifacts, records and terms."""

    def __init__(self, store: Store, terms: Terms, prompts: ExpectedPrompts):
        self._store = store
        self._terms = terms
        self._secrets = Secrets(store)
        self._projects = Projects(store)
        self._links = ArtifactLinks(store)
        self._prompts = prompts

    # -- what changed ----------------------------------------------------------------------------

    def diff(self, corpus: str, scan: Scan, recipe: str, *, full: bool = False) -> Delta:
        """Compare a scan with the known entries: which to read, which are gone.

        An entry is stale when it is new, its stamp or the recipe changed, its stamp is racy, or
        `full` asks for everything. A failed entry is left alone until its stamp changes.
        """
        known = {entry.key: entry for entry in self._find_scanned(corpus, scan)}
        failed = dict(
            self._store.fetch_all("SELECT key, stamp FROM failures WHERE corpus = ?", (corpus,))
        )
        found = {entry.key for entry in scan.entries}
        stale = tuple(
            entry
            for entry in scan.entries
            if full or _is_stale(entry, known.get(entry.key), failed.get(entry.key), recipe)
        )
        gone = tuple(
            entry.key
            for entry in known.values()
            if entry.key not in found and is_authoritative(entry.path, scan)
        )
        return Delta(stale, gone, len(scan.entries) - len(stale), known)

    def find(self, corpus: str, key: str) -> KnownEntry | None:
        """Return a known entry; None for an unknown one."""
        row = self._store.fetch_one(
            f"SELECT {_COLUMNS} FROM entries WHERE corpus = ? AND key = ?", (corpus, key)
        )
        return KnownEntry(*row) if row else None

    def list_paths(self, corpus: str) -> dict[str, bool]:
        """Return the paths of all known entries, and for each whether an entry has artifacts."""
        return {
            path: bool(holds)
            for path, holds in self._store.fetch_all(
                "SELECT path, max(EXISTS (SELECT 1 FROM artifacts WHERE entry = entries.id))"
                " FROM entries WHERE corpus = ? GROUP BY path",
                (corpus,),
            )
        }

    def count_heads(self, corpus: str) -> int:
        """Count the entries whose head alone was read."""
        return self._store.read_number(
            "SELECT count(*) FROM entries WHERE corpus = ? AND substr(stamp, 1, ?) = ?",
            (corpus, len(mark_head("")), mark_head("")),
        )

    def count_under(self, corpus: str, top: str) -> int:
        """Count the known entries at or under a path."""
        condition, values = _make_condition(corpus, top)
        return self._store.read_number(f"SELECT count(*) FROM entries WHERE {condition}", values)

    def _find_scanned(self, corpus: str, scan: Scan) -> Iterable[KnownEntry]:
        rows: dict[str, tuple[Any, ...]] = {}
        for top in scan.covered:
            condition, values = _make_condition(corpus, top)
            for row in self._store.fetch_all(
                f"SELECT {_COLUMNS} FROM entries WHERE {condition}", values
            ):
                rows[row[0]] = row
        # An entry that is new here may be known from another path.
        new = [entry.key for entry in scan.entries if entry.key not in rows]
        statement = f"SELECT {_COLUMNS} FROM entries WHERE corpus = ? AND key IN"
        rows.update((row[0], row) for row in self._store.select_in(statement, new, corpus))
        # A text that the scan has as well, and the recipe of all, is kept once.
        held = {text: text for entry in scan.entries for text in (entry.key, entry.path)}
        held.update((row[4], row[4]) for row in rows.values())
        return [
            KnownEntry(held.get(key, key), held.get(path, path), stamp, racy, held[recipe], cursor)
            for key, path, stamp, racy, recipe, cursor in rows.values()
        ]

    # -- storing ---------------------------------------------------------------------------------

    def put(self, corpus: str, upsert: Upsert, now: float) -> tuple[int, int]:
        """Store one read entry whole: its stamp, its artifacts, their records and terms.

        Returns how many artifacts were written and how many removed. If an artifact's version is
        unchanged, only its links are updated; an artifact held by another entry stays there. The
        entry's failure, if any, is dropped.
        """
        with self._store.transaction():
            held = self._find_held_elsewhere(corpus, upsert)
            known = self._store.fetch_one(
                "SELECT id, skipped, stamp FROM entries WHERE corpus = ? AND key = ?",
                (corpus, upsert.entry.key),
            )
            skipped = json.loads(known[1]) if known and upsert.partial else {}
            number = self._put_entry(corpus, upsert, Counter(skipped), len(held), now)
            added = upsert.partial or not known  # a new entry has nothing to replace
            self._secrets.put(number, upsert.secrets, added=added)
            self._projects.put(number, upsert.projects, added=added)
            versions = "SELECT artifact_id, version FROM artifacts WHERE entry = ?"
            before = dict(self._store.fetch_all(versions, (number,))) if known else {}
            mine = [d for d in upsert.artifacts if d.artifact.artifact_id not in held]
            changed = [d for d in mine if before.get(d.artifact.artifact_id) != d.version]
            same = [d for d in mine if before.get(d.artifact.artifact_id) == d.version]
            present = {d.artifact.artifact_id for d in mine}
            removed = [] if upsert.partial else [i for i in before if i not in present]
            replaced = [i for d in changed if (i := d.artifact.artifact_id) in before]
            if removed:
                self._store.note_forgotten()
                self._store.run_many(
                    "DELETE FROM pins WHERE corpus = ? AND artifact_id = ?",
                    [(corpus, artifact_id) for artifact_id in removed],
                )
            # An entry's head is part of its body: replacing it leaves no text to erase.
            if replaced and known and known[2] != mark_head(upsert.entry.stamp):
                self._store.note_replaced()
            if removed or replaced:
                self._store.run_many(
                    "DELETE FROM artifacts WHERE corpus = ? AND artifact_id = ?",
                    [(corpus, artifact_id) for artifact_id in (*removed, *replaced)],
                )
            for decomposed in changed:
                self._put_artifact(corpus, number, decomposed, upsert.table, now)
            if same:
                self._links.update(number, same)
            if removed:
                self._mark_yielding_entries(corpus)
            self._store.run(
                "DELETE FROM failures WHERE corpus = ? AND key = ?", (corpus, upsert.entry.key)
            )
        return len(changed), len(removed)

    def _find_held_elsewhere(self, corpus: str, upsert: Upsert) -> set[str]:
        return {
            d.artifact.artifact_id
            for d in upsert.artifacts
            if self._store.fetch_one(
                "SELECT 1 FROM artifacts JOIN entries ON entries.id = artifacts.entry"
                " WHERE artifacts.corpus = ? AND artifact_id = ? AND entries.key != ?",
                (corpus, d.artifact.artifact_id, upsert.entry.key),
            )
        }

    def _put_entry(
        self, corpus: str, upsert: Upsert, skipped: Counter[str], held: int, now: float
    ) -> int:
        entry = upsert.entry
        skipped.update(upsert.skipped)
        skipped.update({HELD_ELSEWHERE: held} if held else {})
        row = self._store.fetch_one(
            "INSERT INTO entries(corpus, key, path, stamp, racy, recipe, cursor, skipped)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(corpus, key) DO UPDATE SET"
            " path = excluded.path, stamp = excluded.stamp, racy = excluded.racy,"
            " recipe = excluded.recipe, cursor = excluded.cursor, skipped = excluded.skipped"
            " RETURNING id",
            (
                corpus,
                entry.key,
                entry.path,
                upsert.stamp,
                entry.mtime_ns > now * 1e9 - RACY_NS,
                upsert.recipe,
                upsert.cursor,
                json.dumps(skipped),
            ),
        )
        assert row is not None  # RETURNING gives the row it wrote
        return int(row[0])

    def _put_artifact(
        self,
        corpus: str,
        entry: int,
        decomposed: Decomposed,
        table: TermTable | None,
        now: float,
    ) -> None:
        artifact = decomposed.artifact
        row = (
            entry,
            corpus,
            artifact.artifact_id,
            make_storable(artifact.name),
            artifact.pointer,
            pack(decomposed.fields),
            None if artifact.body is None else make_storable(artifact.body),
            artifact.digest,
            decomposed.content,
            decomposed.version,
            now,
            self._pack_ids(decomposed.name_terms),
            pack_stated(decomposed.stated),
        )
        number = insert_artifact(self._store, row)
        self._links.put(number, decomposed.edges)
        expected, common = self._prompts.find_expected(corpus, artifact.artifact_id)
        records = (
            self._make_record_row(
                each,
                self._pack_counts(each.terms, table),
                None if each.surface_index else expected,
                common,
            )
            for each in decomposed.records
        )
        insert_records(self._store, number, records)

    def _make_record_row(
        self, record: Record, own: tuple[bytes, bytes], expected: Expected | None, common: str
    ) -> tuple[object, ...]:
        text = make_storable(record.text)
        place = (record.record_id, record.kind, record.granularity, record.surface_index)
        counted = self._prompts.count_in(text, own, expected, common)
        return (*place, text, pack(record.metadata), *counted)

    def _pack_counts(self, terms: RecordTerms, table: TermTable | None) -> tuple[bytes, bytes]:
        """Return the ids of terms (int32), new ones included, and their counts (float32)."""
        if isinstance(terms, TabledTerms):
            assert table is not None  # only a reader process' counts come with a table
            places = np.frombuffer(terms.places, np.int32)
            return self._terms.give_table_ids(table, places).tobytes(), terms.counts
        return self._pack_ids(terms), np.array(list(terms.values()), np.float32).tobytes()

    def _pack_ids(self, terms: Iterable[str]) -> bytes:
        return np.array(self._terms.give_ids(terms), np.int32).tobytes()

    def forget(self, corpus: str, keys: Iterable[str]) -> int:
        """Remove entries and everything they hold; return how many artifacts were removed."""
        pairs = [(corpus, key) for key in keys]
        if not pairs:
            return 0
        with self._store.transaction():
            self._store.note_forgotten()
            self._store.run_many(
                "DELETE FROM pins WHERE corpus = ?1 AND artifact_id IN (SELECT artifact_id"
                " FROM artifacts JOIN entries ON entries.id = artifacts.entry"
                " WHERE entries.corpus = ?1 AND key = ?2)",
                pairs,
            )
            removed = self._store.run_many(
                "DELETE FROM artifacts WHERE entry ="
                " (SELECT id FROM entries WHERE corpus = ? AND key = ?)",
                pairs,
            )
            self._store.run_many("DELETE FROM entries WHERE corpus = ? AND key = ?", pairs)
            self._store.run_many("DELETE FROM failures WHERE corpus = ? AND key = ?", pairs)
            self._mark_yielding_entries(corpus)
        return removed

    def _mark_yielding_entries(self, corpus: str) -> None:
        """Mark the entries that left an artifact to another entry, which may be gone now."""
        self._store.run(
            "UPDATE entries SET stamp = '', cursor = NULL WHERE corpus = ? AND instr(skipped, ?)",
            (corpus, HELD_ELSEWHERE),
        )

    def count_skipped(self, corpus: str) -> dict[str, int]:
        """Count what was skipped while a corpus was read, by reason."""
        total = Counter[str]()
        statement = "SELECT skipped FROM entries WHERE corpus = ? AND skipped != '{}'"
        for text in self._store.fetch_column(statement, (corpus,)):
            total.update(dict(json.loads(text).items()))  # a list would count its items
        return dict(total)


_COLUMNS = "key, path, stamp, racy, recipe, cursor"
# Paths under a top sort between "top/" and "top0" ("0" follows "/"); the index serves the first two
# comparisons.
_UNDER = "corpus = ? AND path >= ? AND path < ? AND (path = ? OR path >= ?)"
_EVERYWHERE = "corpus = ?"


def _make_condition(corpus: str, top: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition for the entries at or under a path, and its values."""
    if not top:
        return _EVERYWHERE, (corpus,)
    stem = top.rstrip("/")
    return _UNDER, (corpus, top, stem + "0", top, stem + "/")


def is_authoritative(path: str, scan: Scan) -> bool:
    """Return whether a path that a scan did not find counts as gone."""
    covered = any(is_within(path, top) for top in scan.covered)
    return covered and not any(is_within(path, problem.path) for problem in scan.problems)


def _is_stale(entry: Entry, known: KnownEntry | None, failed: str | None, recipe: str) -> bool:
    if failed is not None:
        return failed != entry.stamp
    if known is None:
        return True
    same = (known.path, known.stamp, known.recipe) == (entry.path, entry.stamp, recipe)
    return bool(known.racy) or not same


# Failures: the entries that could not be read, why, and since when.


class Failures:
    """Keep one row per failed entry until it is read, gone, or its stamp changes."""

    def __init__(self, store: Store):
        self._store = store

    def put(self, failure: Failure) -> bool:
        """Store a failure, a known one with its old `since` and one more try.

        Returns whether it is new.
        """
        with self._store.transaction():
            row = self._store.fetch_one(
                "INSERT INTO failures(corpus, key, path, reason, stamp, since)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(corpus, key) DO UPDATE SET"
                " path = excluded.path, reason = excluded.reason, stamp = excluded.stamp,"
                " tries = tries + 1 RETURNING tries",
                (
                    failure.corpus,
                    failure.key,
                    failure.path,
                    make_storable(failure.reason),
                    failure.stamp,
                    failure.since,
                ),
            )
        return row == (1,)

    def drop_absent(self, corpus: str, found: Iterable[str], scan: Scan) -> None:
        """Drop the failures of entries that a scan found to be gone."""
        present = set(found)
        known = self._store.fetch_all("SELECT key, path FROM failures WHERE corpus = ?", (corpus,))
        absent = (key for key, path in known if key not in present and is_authoritative(path, scan))
        self._store.write_many(
            "DELETE FROM failures WHERE corpus = ? AND key = ?", [(corpus, key) for key in absent]
        )

    def retry(self) -> int:
        """Forget the stamps of all failures, so that the next scan reads them again."""
        return self._store.write("UPDATE failures SET stamp = ''")

    def count(self, corpus: str) -> int:
        """Count the failures of a corpus."""
        return self._store.read_number("SELECT count(*) FROM failures WHERE corpus = ?", (corpus,))

    def list_all(self, corpus: str | None = None, at_most: int = -1) -> list[Failure]:
        """Return failures of one corpus or of all, oldest first, `at_most` of them (-1: all)."""
        rows = self._store.fetch_all(
            "SELECT corpus, path, key, reason, stamp, since, tries FROM failures"
            " WHERE corpus = coalesce(?, corpus) ORDER BY since, corpus, key LIMIT ?",
            (corpus, at_most),
        )
        return [Failure(*row) for row in rows]
