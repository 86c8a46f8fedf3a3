"""What changes a corpus: each delta in one transaction, with the generation that it makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import psycopg

from irclient.errors import NotFound
from irdaemon.contrib.backends.postgres.coding import KIND, Coder
from irdaemon.contrib.backends.postgres.connections import Connection, patient
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    SpaceTables,
    bytes_of,
    id_key,
    merged_fields,
    packed,
    packed_totals,
    unpacked,
)
from irdaemon.index.backend import IndexDelta, LeaseLost, OutOfStep, SentArtifact, SentRecord
from irdaemon.index.rows import hash_name
from irdaemon.source.asset_types import FIELD, find_asset_type

# The artifacts and records of a delta, copied into a space part by part.

# Artifacts, and records, that are held in memory at a time.
_ROWS_AT_ONCE = 500


def copy_streams(
    space: SpaceTables,
    coder: Coder,
    artifacts: Iterable[SentArtifact],
    records: Iterable[SentRecord],
) -> None:
    """Copy artifacts, and their records in the same order, into a space."""
    parts = _in_parts(records)
    ahead: list[SentRecord] = []
    for some in _in_parts(artifacts):
        _copy_artifacts(space, some)
        of_artifact = {each.row[0]: _packed_fields(each.row[4]) for each in some}
        while ahead or (ahead := next(parts, [])):
            mine = [each for each in ahead if each.row[0] <= some[-1].row[0]]
            _copy_records(space, coder, mine, [of_artifact[each.row[0]] for each in mine])
            ahead = ahead[len(mine) :]
            if ahead:
                break


def _packed_fields(data: bytes) -> dict[str, bytes]:
    fields = unpacked(data)
    fields[FIELD] = find_asset_type(fields)
    return {str(name): packed(value) for name, value in fields.items()}


def _copy_artifacts(space: SpaceTables, artifacts: Sequence[SentArtifact]) -> None:
    space.copy_rows(
        "artifacts",
        "artifact, id_key, name_key, row, stored",
        ["int8", "int8", "int8", "bytea", "bytea"],
        (
            (
                each.row[0],
                id_key(each.row[1]),
                hash_name(each.row[2]),
                packed(each.row[1:]),
                packed((each.body, each.digest, each.indexed_at)),
            )
            for each in artifacts
        ),
    )
    terms = [np.frombuffer(each.row[6], np.int32) for each in artifacts]
    owners = np.repeat([each.row[0] for each in artifacts], [len(ids) for ids in terms])
    space.copy_columns("naming", "term, artifact", [("i4", np.concatenate(terms)), ("i8", owners)])


def _copy_records(
    space: SpaceTables,
    coder: Coder,
    records: Sequence[SentRecord],
    of_artifact: Sequence[dict[str, bytes]],
) -> None:
    if not records:
        return
    numbers = np.array([record_number(each.row) for each in records], np.int64)
    fields = [
        {**merged_fields(theirs, each.row[4]), KIND: packed(each.row[1])}
        for each, theirs in zip(records, of_artifact, strict=True)
    ]
    codes = coder.coded(fields)
    space.copy_columns("slots", "record, codes", [("i8", numbers), ("i4", codes)])
    space.copy_rows(
        "records",
        "record, row, stored",
        ["int8", "bytea", "bytea"],
        (
            (int(number), packed(each.row[1:]), packed(_stored(each)))
            for number, each in zip(numbers, records, strict=True)
        ),
    )
    _copy_vectors(space, numbers.tolist(), records)
    _copy_postings(space, numbers, records)


def record_number(row: tuple[Any, ...]) -> int:
    """Return the number of a record by its row as the ledger gives it."""
    return (int(row[0]) << SURFACE_BITS) + int(row[2])


def _stored(record: SentRecord) -> tuple[str, str, str, bool]:
    """Return a record's id and granularity, and its text without the beginning that its row has."""
    begins = record.text.startswith(record.row[3])
    return (*record.label, record.text[len(record.row[3]) :] if begins else record.text, begins)


def _copy_vectors(
    space: SpaceTables, numbers: Sequence[int], records: Sequence[SentRecord]
) -> None:
    both = list(zip(numbers, records, strict=True))
    copy_vectors(space, {n: each.vector for n, each in both if each.vector is not None})
    waiting = [(number, each.row[5]) for number, each in both if each.vector is None]
    if waiting:
        space.copy_rows("waiting", "record, digest", ["int8", "bytea"], waiting)


def copy_vectors(space: SpaceTables, vectors: dict[int, bytes]) -> None:
    """Add the vectors of records, by their numbers."""
    if vectors and space.dim:
        values = np.frombuffer(b"".join(vectors.values()), np.float32).reshape(-1, space.dim)
        numbers = np.array(list(vectors), np.int64)
        space.copy_columns("vectors", "record, vector", [("i8", numbers), ("f4", values)])


def _copy_postings(space: SpaceTables, numbers: Any, records: Sequence[SentRecord]) -> None:
    sizes = np.array([len(each.row[6]) // 4 for each in records])
    terms = np.frombuffer(b"".join(each.row[6] for each in records), np.int32)
    counts = np.frombuffer(b"".join(each.row[7] for each in records), np.float32)
    of = np.repeat(np.arange(len(records)), sizes)
    lengths = np.bincount(of, counts, minlength=len(records))
    space.copy_columns(
        "postings",
        "term, record, count, length",
        [("i4", terms), ("i8", numbers[of]), ("f4", counts), ("f4", lengths[of])],
    )


def _in_parts(items: Iterable[Any]) -> Iterator[list[Any]]:
    each = iter(items)
    while part := list(islice(each, _ROWS_AT_ONCE)):
        yield part


# Who may write a corpus: a row for each, with a fence that grows whenever another takes it.
#
# Time is the server's. A lease that was not renewed in time may be taken by another, and the next
# write of the former holder is refused, however long it was away.

LEASE_S = 15


def take_lease(connection: Connection, corpus: str, holder: str, fence: int | None) -> int:
    """Take or renew the lease of a corpus; return its fence.

    `fence` is the one that this process had. A holder of the same name without one is the same
    program, started again: it takes the lease, and the fence grows. Raises LeaseLost.
    """
    until = f"clock_timestamp() + interval '{LEASE_S} seconds'"
    row = connection.execute(
        "INSERT INTO irdaemon.leases AS l (corpus, holder, fence, until)"
        f" VALUES (%(corpus)s, %(holder)s, 1, {until}) ON CONFLICT (corpus) DO UPDATE SET"
        " holder = excluded.holder, until = excluded.until,"
        " fence = l.fence + CASE WHEN l.holder = excluded.holder AND l.fence = %(fence)s"
        "   THEN 0 ELSE 1 END"
        " WHERE l.until < clock_timestamp()"
        "   OR l.holder = excluded.holder AND (%(fence)s::bigint IS NULL OR l.fence = %(fence)s)"
        " RETURNING fence",
        {"corpus": corpus, "holder": holder, "fence": fence},
    ).fetchone()
    if row is None:
        raise _lost(connection, corpus)
    return int(row[0])


def release_lease(connection: Connection, corpus: str, holder: str, fence: int) -> None:
    """Give up a lease, if it is still the one with this fence."""
    connection.execute(
        "UPDATE irdaemon.leases SET until = '-infinity'"
        " WHERE corpus = %s AND holder = %s AND fence = %s",
        (corpus, holder, fence),
    )


def check_fence(connection: Connection, corpus: str, fence: int, *, hold: bool = False) -> None:
    """Raise LeaseLost where a fence is not the newest.

    With `hold` none is given out before the transaction ends.
    """
    row = connection.execute(
        f"SELECT fence FROM irdaemon.leases WHERE corpus = %s{' FOR SHARE' if hold else ''}",
        (corpus,),
    ).fetchone()
    if row is None or row[0] != fence:
        raise _lost(connection, corpus)


def _lost(connection: Connection, corpus: str) -> LeaseLost:
    row = connection.execute(
        "SELECT holder, ceil(extract(epoch FROM until - clock_timestamp()))"
        " FROM irdaemon.leases WHERE corpus = %s",
        (corpus,),
    ).fetchone()
    if row is None:
        return LeaseLost(f"no process has the lease of corpus {corpus!r}", "take it before writing")
    holder, left = row
    return LeaseLost(
        f"corpus {corpus!r} is written by {holder}",
        "nothing was changed; it can be taken over"
        + (f" in {int(left)} s, unless that one goes on" if left > 0 else " now"),
    )


# The smaller parts of a delta: what went, vectors that came late, words and their counts.
#
# What nothing holds any more is removed in the same transaction, words among it.

_AT_ONCE = 1_000
# Of a form, which begins with `=`, what follows it counts (see `index.FORM`).
_FORM = "="
# Where its terms are in the row of a record (see `streams`).
_TERMS = 5


def remove_artifacts(space: SpaceTables, coder: Coder, gone: Sequence[int]) -> set[int]:
    """Remove artifacts with all of their records; return the terms of their names."""
    named: set[int] = set()
    for start in range(0, len(gone), _AT_ONCE):
        some = list(gone[start : start + _AT_ONCE])
        firsts = [number << SURFACE_BITS for number in some]
        lasts = [first + (1 << SURFACE_BITS) - 1 for first in firsts]
        coder.forget(list(zip(firsts, lasts, strict=True)))
        _remove_postings(space, firsts, lasts)
        for table in ("slots", "records", "vectors", "waiting"):
            space.run(
                "DELETE FROM {table} AS t USING unnest(%s::bigint[], %s::bigint[]) AS r (a, b)"
                " WHERE t.space = %s AND t.record BETWEEN r.a AND r.b",
                table,
                firsts,
                lasts,
                space.number,
            )
        removed = "DELETE FROM {table} WHERE space = %s AND artifact = ANY (%s::bigint[])"
        space.run(removed, "artifacts", space.number, some)
        rows = space.run(f"{removed} RETURNING term", "naming", space.number, some)
        named.update(term for (term,) in rows)
    return named


def _remove_postings(space: SpaceTables, firsts: Sequence[int], lasts: Sequence[int]) -> None:
    rows = space.run(
        "SELECT t.record, t.row FROM unnest(%s::bigint[], %s::bigint[]) AS r (a, b)"
        " JOIN {table} AS t ON t.space = %s AND t.record BETWEEN r.a AND r.b",
        "records",
        firsts,
        lasts,
        space.number,
    )
    terms = [np.frombuffer(unpacked(row)[_TERMS], np.int32) for _, row in rows]
    if terms:
        records = np.repeat([record for record, _ in rows], [len(ids) for ids in terms])
        space.run(
            "DELETE FROM {table} AS p USING unnest(%s::int[], %s::bigint[]) AS r (term, record)"
            " WHERE p.space = %s AND p.term = r.term AND p.record = r.record",
            "postings",
            np.concatenate(terms).tolist(),
            records.tolist(),
            space.number,
        )


def add_late_vectors(space: SpaceTables, vectors: Mapping[bytes, bytes]) -> None:
    """Add the vectors of records that had none, by their digests."""
    digests = iter(vectors)
    while some := list(islice(digests, _AT_ONCE)):
        rows = space.run(
            "DELETE FROM {table} WHERE space = %s AND digest = ANY (%s::bytea[])"
            " RETURNING record, digest",
            "waiting",
            space.number,
            some,
        )
        copy_vectors(space, {record: vectors[bytes(digest)] for record, digest in rows})


def add_words(connection: Connection, ledger: int, words: Mapping[str, int]) -> None:
    """Add the words of a ledger that are not there yet."""
    items = iter(words.items())
    while some := list(islice(items, 10 * _AT_ONCE)):
        plain = [word.removeprefix(_FORM) or word for word, _ in some]
        connection.execute(
            "INSERT INTO irdaemon.words (ledger, term, initial, length, word)"
            " SELECT %s, * FROM unnest(%s::int[], %s::int[], %s::int[], %s::bytea[])"
            " ON CONFLICT DO NOTHING",
            (
                ledger,
                [term for _, term in some],
                [ord(word[:1] or "\0") for word in plain],
                [len(word) for word in plain],
                [bytes_of(word) for word, _ in some],
            ),
        )


def count_terms(space: SpaceTables, df: Mapping[int, int]) -> None:
    """Note how many records hold each of some terms."""
    if not space.made:
        space.run(
            "DELETE FROM {table} WHERE space = %s AND term = ANY (%s::int[])",
            "frequencies",
            space.number,
            list(df),
        )
    held = {term: n for term, n in df.items() if n}
    space.copy_columns("frequencies", "term, df", [("i4", list(held)), ("i8", list(held.values()))])


def erase_words(connection: Connection, ledger: int, terms: Sequence[int] | None) -> None:
    """Remove words that no record and no name of the ledger's corpora holds, of all for None.

    Then ledgers without corpora go, too, with all their words.
    """
    if not (terms is None or terms):
        return
    rows = connection.execute(
        "SELECT space FROM irdaemon.corpora WHERE ledger = %s", (ledger,)
    ).fetchall()
    spaces = [space for (space,) in rows]
    connection.execute(
        "DELETE FROM irdaemon.words AS w WHERE ledger = %(ledger)s"
        + ("" if terms is None else " AND term = ANY (%(terms)s::int[])")
        + " AND NOT EXISTS (SELECT FROM irdaemon.frequencies AS f"
        "   WHERE f.space = ANY (%(spaces)s::int[]) AND f.term = w.term)"
        " AND NOT EXISTS (SELECT FROM irdaemon.naming AS n"
        "   WHERE n.space = ANY (%(spaces)s::int[]) AND n.term = w.term)",
        {"ledger": ledger, "terms": terms, "spaces": spaces},
    )
    if terms is None:
        connection.execute(
            "DELETE FROM irdaemon.ledgers WHERE ledger NOT IN (SELECT ledger FROM irdaemon.corpora)"
        )


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
