"""Mending the ledger: what cannot be right goes, and what it was read from is marked to be read.

The sources have all of it, so nothing is guessed: a row that is doubted is dropped.
"""

from __future__ import annotations

from irdaemon.ledger.check import (
    JSON_COLUMNS,
    broken_artifacts,
    broken_vectors,
    count_of,
    foreign,
    lacking,
    pattern_of,
    vocabulary_size,
)
from irdaemon.ledger.store import Store
from irdaemon.ledger.vectors import Vectors

_READ_AGAIN = "UPDATE entries SET stamp = '', cursor = NULL"
_STRAY_RECORDS = "records WHERE artifact NOT IN (SELECT id FROM artifacts)"
# In this order: what loses its owner in one step goes in the next.
_STRAYS = (
    "entries WHERE corpus NOT IN (SELECT name FROM corpora)",
    "failures WHERE corpus NOT IN (SELECT name FROM corpora)",
    "floors WHERE corpus NOT IN (SELECT name FROM corpora)",
    "artifacts WHERE entry NOT IN (SELECT id FROM entries)",
    _STRAY_RECORDS,
)
# In this order: what is dropped first can do nothing when the next one is.
_DROPPED = ("trigger", "view", "index", "table")
# What stands in the place of JSON that is none; None: the row goes.
_EMPTY = {"problems": "[]", "roots": "{}", "skipped": "{}", "floor": None}


def mend(store: Store) -> int:
    """Make the rows of a file that is whole fit together, in one transaction.

    Returns how many entries are to be read again at the next look.
    """
    with store.transaction():
        _mend_schema(store)
        if count_of(store, _STRAY_RECORDS):
            store.run(_READ_AGAIN)  # nothing tells any more what their artifact was read from
        for rows in _STRAYS:
            store.run(f"DELETE FROM {rows}")
        _mend_values(store)
        _mend_vocabulary(store)
        _drop_broken(store)
        gone = list(broken_vectors(store))
        store.run_many("DELETE FROM vectors WHERE digest = ? AND embedder = ?", gone)
        Vectors(store).drop_unused()
        # Another ledger from now on: images of the one before are not to be trusted either.
        store.run("DELETE FROM counters WHERE name = 'identity'")
        row = store.one("SELECT count(*) FROM entries WHERE stamp = ''")
    return int(row[0]) if row else 0


def _mend_schema(store: Store) -> None:
    """Drop what is not ours, and make anew what is missing: before it can run, or fail."""
    for kind, name in sorted(foreign(store), key=lambda each: _DROPPED.index(each[0])):
        quoted = name.replace('"', '""')
        store.run(f'DROP {kind} "{quoted}"')
    wanted = pattern_of(store.format).made_by
    for key in lacking(store):
        store.run(wanted[key])


def _mend_values(store: Store) -> None:
    store.run("INSERT OR IGNORE INTO counters VALUES ('generation', 0)")
    store.run(f"{_READ_AGAIN} WHERE NOT json_valid(skipped)")
    for table, column in JSON_COLUMNS:
        empty = _EMPTY[column]
        if empty is None:
            store.run(f"DELETE FROM {table} WHERE NOT json_valid({column})")
        else:
            store.run(f"UPDATE {table} SET {column} = ? WHERE NOT json_valid({column})", empty)


def _mend_vocabulary(store: Store) -> None:
    """Begin a new vocabulary where ids are missing: whatever was spelled with it goes."""
    if vocabulary_size(store) < 0:
        store.run(_READ_AGAIN)
        store.run("DELETE FROM artifacts")
        store.run("DELETE FROM terms")


def _drop_broken(store: Store) -> None:
    rows = [(number,) for number in {each.row for each in broken_artifacts(store)}]
    entry = "(SELECT entry FROM artifacts WHERE id = ?)"
    store.run_many(f"{_READ_AGAIN} WHERE id = {entry}", rows)
    store.run_many("DELETE FROM artifacts WHERE id = ?", rows)
