"""Replace a damaged ledger by a sound one: at a start, and while queries are answered.

Rows that do not fit are repaired. A file that is no longer a database is set aside; this loses only
data that the sources no longer have. A running daemon hands its snapshot's term ids and vectors to
the new ledger, so that old and new can be served together until every source was read again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.ledger import Ledger, LedgerError
from irdaemon.ledger.backups import (
    Corruption,
    describe_corruption,
    set_corrupt_aside,
    try_repair,
)
from irdaemon.ledger.store import suggest_cure

Made = TypeVar("Made")


def open_ledger(
    path: str, make: Callable[[Ledger], Made], now: float
) -> tuple[Made, Corruption | None]:
    """Return what `make` builds on the ledger at a path; a damaged one is repaired or set aside.

    Raises LedgerError for a disk error or a later format.
    """
    try:
        return _open_and_make(path, make), None
    except Exception as error:
        if not (why := describe_corruption(path, error)):
            raise
    if try_repair(path):
        return _open_and_make(path, make), None
    try:
        loss = set_corrupt_aside(path, why, now)
    except OSError as error:
        raise LedgerError(
            f"{path} is damaged ({why}), and cannot be set aside: {error.strerror}",
            "check who owns its directory",
        ) from error
    return _open_and_make(path, make), loss


def _open_and_make(path: str, make: Callable[[Ledger], Made]) -> Made:
    ledger = Ledger(path)
    try:
        return make(ledger)
    except sqlite3.Error as error:
        ledger.close()
        raise LedgerError(f"{path}: {error}", suggest_cure(path)) from error
    except BaseException:
        ledger.close()
        raise


def renew_ledger(
    old: Ledger, snapshot: Snapshot, why: str, now: float
) -> tuple[Ledger, Corruption | None]:
    """Repair the ledger of a running daemon, or set it aside and begin a new one.

    The new one begins with the term ids and vectors of a snapshot.
    """
    if try_repair(old.path):
        old.close()
        return Ledger(old.path), None
    loss = set_corrupt_aside(old.path, why, now)
    old.close()
    ledger = Ledger(old.path)
    ledger.adopt_history(snapshot.generation, snapshot.vocabulary)
    for index in snapshot.list_indexes():
        _hand_over_vectors(ledger, index)
    return ledger, loss


def _hand_over_vectors(ledger: Ledger, index: CorpusIndex) -> None:
    rows = index.rows
    positions = np.flatnonzero(rows.embedded).tolist()
    digests = [rows.shown[at].digest for at in positions]
    ledger.vectors.put(index.embedder, digests, rows.vectors.array[positions])
