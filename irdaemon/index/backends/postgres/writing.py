"""What changes a corpus: each delta in one transaction, with the generation that it makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psycopg

from irclient.errors import NotFound
from irdaemon.index.backend import IndexDelta, OutOfStep
from irdaemon.index.backends.postgres.coding import Coder
from irdaemon.index.backends.postgres.connections import Connection, patient
from irdaemon.index.backends.postgres.leases import check_fence
from irdaemon.index.backends.postgres.packing import packed_totals
from irdaemon.index.backends.postgres.removal import (
    add_late_vectors,
    add_words,
    count_terms,
    erase_words,
    remove_artifacts,
)
from irdaemon.index.backends.postgres.space import SpaceTables
from irdaemon.index.backends.postgres.streams import copy_streams

# The channel on which a new generation is told.
CHANNEL = "irdaemon"
# How long those that search may have to wait for an old space to go; else it goes another time.
_LOCK_MS = 2_000
# Building the graph of a million vectors takes minutes.
_BUILD_S = 3_600.0
_OLD = "SELECT space FROM irdaemon.spaces WHERE space NOT IN (SELECT space FROM irdaemon.corpora)"


@contextlib.contextmanager
def write_transaction(connection: Connection) -> Iterator[None]:
    """Do the work inside in one transaction, which sees all corpora."""
    with connection.transaction():
        connection.execute(
            "SELECT set_config('irdaemon.corpora', '*', true), set_config('jit', 'off', true)"
        )
        yield


def apply_delta(connection: Connection, delta: IndexDelta, hnsw_above: int) -> bool:
    """Apply a delta; return whether `tidy` is due. Raises OutOfStep, LeaseLost."""
    totals = delta.totals
    with write_transaction(connection):
        check_fence(connection, totals.corpus, delta.fence)
        ledger = _locked_ledger(connection, totals.ledger)
        row = connection.execute(
            "SELECT generation, ledger, space, dim FROM irdaemon.corpora"
            " JOIN irdaemon.spaces USING (space) WHERE corpora.corpus = %s FOR UPDATE OF corpora",
            (totals.corpus,),
        ).fetchone()
        if row and row[:2] == (totals.generation, ledger):
            return True
        if delta.base and (not row or row != (delta.base, ledger, row[2], totals.dim)):
            raise OutOfStep(
                f"corpus {totals.corpus!r} is at generation {row[0] if row else 0} there, and the"
                f" change follows {delta.base}",
                "it has to be sent whole",
            )
        if delta.base and row:
            _change(SpaceTables(connection, row[2], row[3], made=False), delta, ledger)
        else:
            _send_whole(connection, delta, ledger, hnsw_above)
        _tell(connection, delta)
        due = _tidy_is_due(connection, totals.n_embedded >= max(hnsw_above, 1))
        check_fence(connection, totals.corpus, delta.fence, hold=True)
    return due


def drop_corpus(connection: Connection, corpus: str, fence: int) -> None:
    """Remove a corpus. Raises NotFound, LeaseLost."""
    with write_transaction(connection):
        check_fence(connection, corpus, fence, hold=True)
        row = connection.execute(
            "DELETE FROM irdaemon.corpora WHERE corpus = %s RETURNING ledger", (corpus,)
        ).fetchone()
        if row is None:
            raise NotFound(f"there is no corpus {corpus!r}")
        erase_words(connection, row[0], None)


def _tidy_is_due(connection: Connection, large: bool) -> bool:
    row = connection.execute(f"SELECT EXISTS ({_OLD})").fetchone()
    return large or row != (False,)


def tidy(connection: Connection, hnsw_above: int) -> None:
    """Remove spaces that are no longer searched, and index the vectors of those that grew."""
    with write_transaction(connection):
        old = connection.execute(_OLD).fetchall()
    for (space,) in old:
        with contextlib.suppress(psycopg.errors.LockNotAvailable), write_transaction(connection):
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(_LOCK_MS),))
            connection.execute("SELECT irdaemon.drop_space(%s)", (space,))
    _index_what_grew(connection, hnsw_above)


def _index_what_grew(connection: Connection, hnsw_above: int) -> None:
    with write_transaction(connection):
        grown = connection.execute(
            "SELECT space FROM irdaemon.corpora WHERE n_embedded >= %s"
            " AND to_regclass('irdaemon.vectors_' || space || '_hnsw') IS NULL",
            (max(hnsw_above, 1),),
        ).fetchall()
        for (space,) in grown:
            with patient(connection, _BUILD_S):
                connection.execute("SELECT irdaemon.index_vectors(%s)", (space,))


def _locked_ledger(connection: Connection, identity: str) -> int:
    """Return the number of a ledger, whose corpora no other transaction changes meanwhile."""
    connection.execute(
        "INSERT INTO irdaemon.ledgers (identity) VALUES (%s) ON CONFLICT DO NOTHING", (identity,)
    )
    row = connection.execute(
        "SELECT ledger FROM irdaemon.ledgers WHERE identity = %s FOR UPDATE", (identity,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def _change(space: SpaceTables, delta: IndexDelta, ledger: int) -> None:
    coder = Coder(space)
    named = remove_artifacts(space, coder, delta.gone)
    copy_streams(space, coder, delta.artifacts, delta.records)
    coder.finish()
    add_late_vectors(space, delta.vectors)
    add_words(space.connection, ledger, delta.words)
    count_terms(space, delta.df)
    _note(space, delta, ledger)
    unused = {term for term, df in delta.df.items() if not df} | named
    erase_words(space.connection, ledger, sorted(unused))


def _send_whole(connection: Connection, delta: IndexDelta, ledger: int, hnsw_above: int) -> None:
    totals = delta.totals
    row = connection.execute(
        "SELECT irdaemon.create_space(%s, %s)", (totals.corpus, totals.dim)
    ).fetchone()
    assert row is not None
    space = SpaceTables(connection, row[0], totals.dim, made=True)
    coder = Coder(space)
    copy_streams(space, coder, delta.artifacts, delta.records)
    coder.finish()
    count_terms(space, delta.df)
    add_words(connection, ledger, delta.words)
    with patient(connection, _BUILD_S):
        connection.execute("SELECT irdaemon.finish_space(%s)", (space.number,))
        if totals.n_embedded >= max(hnsw_above, 1):
            connection.execute("SELECT irdaemon.index_vectors(%s)", (space.number,))
    _note(space, delta, ledger)
    erase_words(connection, ledger, None)


def _note(space: SpaceTables, delta: IndexDelta, ledger: int) -> None:
    """Have the corpus searched in this space, as of the delta's generation."""
    totals = delta.totals
    space.connection.execute(
        "INSERT INTO irdaemon.corpora (corpus, space, ledger, generation, n_embedded, totals)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (corpus) DO UPDATE SET"
        " (space, ledger, generation, n_embedded, totals, changed) = (excluded.space,"
        " excluded.ledger, excluded.generation, excluded.n_embedded, excluded.totals,"
        " excluded.changed)",
        (
            totals.corpus,
            space.number,
            ledger,
            totals.generation,
            totals.n_embedded,
            packed_totals(totals),
        ),
    )


def _tell(connection: Connection, delta: IndexDelta) -> None:
    said = f"{delta.totals.corpus} {delta.totals.generation}"
    connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, said))
