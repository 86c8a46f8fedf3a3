"""Repair a ledger: drop what cannot be right, and mark what it was read from to be read again.

The sources have all of it, so nothing is guessed: a doubtful row is dropped.
"""

from __future__ import annotations

from irdaemon.ledger.check import (
    JSON_COLUMNS,
    count_of,
    foreign,
    garbled_texts,
    invalid_artifacts,
    invalid_vectors,
    lacking,
    pattern_of,
    vocabulary_size,
)
from irdaemon.ledger.store import Store
from irdaemon.ledger.vectors import Vectors

_READ_AGAIN = "UPDATE entries SET stamp = '', cursor = NULL"
_ORPHAN_RECORDS = "records WHERE artifact NOT IN (SELECT id FROM artifacts)"
# In this order: a deletion makes orphans for the next.
_ORPHANS = (
    "entries WHERE corpus NOT IN (SELECT name FROM corpora)",
    "failures WHERE corpus NOT IN (SELECT name FROM corpora)",
    "floors WHERE corpus NOT IN (SELECT name FROM corpora)",
    "artifacts WHERE entry NOT IN (SELECT id FROM entries)",
    _ORPHAN_RECORDS,
    "links WHERE artifact NOT IN (SELECT id FROM artifacts)",
)
# In this order: a trigger must not run when a table is dropped.
_DROPPED = ("trigger", "view", "index", "table")
# What replaces JSON that does not decode; of other columns the row is deleted.
_EMPTY = {"problems": "[]", "roots": "{}", "spec": "", "learning": "", "skipped": "{}"}


def repair(store: Store) -> int:
    """Make the rows of a file that is whole consistent, in one transaction.

    Returns how many entries are to be read again at the next scan.
    """
    with store.transaction():
        _repair_schema(store)
        if count_of(store, _ORPHAN_RECORDS):
            store.run(_READ_AGAIN)  # what their artifact was read from is unknown
        for rows in _ORPHANS:
            store.run(f"DELETE FROM {rows}")
        _repair_values(store)
        _repair_vocabulary(store)
        _drop_invalid(store)
        gone = list(invalid_vectors(store))
        store.run_many("DELETE FROM vectors WHERE digest = ? AND embedder = ?", gone)
        Vectors(store).drop_unused()
        # It is another ledger from now on: images of the one before must not be used.
        store.run("DELETE FROM counters WHERE name = 'identity'")
        row = store.one("SELECT count(*) FROM entries WHERE stamp = ''")
    return int(row[0]) if row else 0


def _repair_schema(store: Store) -> None:
    """Drop what no migration made and make what is missing, before a trigger can run."""
    for kind, name in sorted(foreign(store), key=lambda each: _DROPPED.index(each[0])):
        quoted = name.replace('"', '""')
        store.run(f'DROP {kind} "{quoted}"')
    wanted = pattern_of(store.format).made_by
    for key in lacking(store):
        store.run(wanted[key])


def _repair_values(store: Store) -> None:
    store.run("INSERT OR IGNORE INTO counters VALUES ('generation', 0)")
    for table, column in JSON_COLUMNS:
        texts = garbled_texts(store, table, column)
        if column == "skipped":
            store.run_many(f"{_READ_AGAIN} WHERE skipped = ?", [(text,) for text in texts])
        for text in texts:
            if column in _EMPTY:
                empty = _EMPTY[column]
                store.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", empty, text)
            else:
                store.run(f"DELETE FROM {table} WHERE {column} = ?", text)


def _repair_vocabulary(store: Store) -> None:
    """Begin a new vocabulary where ids are missing, and drop every artifact that used it."""
    if vocabulary_size(store) < 0:
        store.run(_READ_AGAIN)
        store.run("DELETE FROM artifacts")
        store.run("DELETE FROM terms")


def _drop_invalid(store: Store) -> None:
    rows = [(number,) for number in {each.row for each in invalid_artifacts(store)}]
    entry = "(SELECT entry FROM artifacts WHERE id = ?)"
    store.run_many(f"{_READ_AGAIN} WHERE id = {entry}", rows)
    store.run_many("DELETE FROM artifacts WHERE id = ?", rows)
