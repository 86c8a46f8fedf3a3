"""Change a corpus: each delta in one transaction, with the generation that it makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray

from irclient.errors import NotFound
from irdaemon.contrib.backends.postgres.coding import KIND, Coder
from irdaemon.contrib.backends.postgres.connections import Connection, fetch_value, wait_longer
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    SpaceTables,
    encode_text,
    hash_id,
    pack,
)
from irdaemon.contrib.backends.state import dump_totals, split_batches, unpack_bytes
from irdaemon.index.backend import (
    IndexDelta,
    LeaseLost,
    OutOfStep,
    SentArtifact,
    SentRecord,
    Totals,
)
from irdaemon.index.rows import hash_name
from irdaemon.source.asset_types import FIELD, find_asset_type

# Copy the artifacts and records of a delta into a space in parts, with a few hundred of each in
# memory at a time.


def copy_streams(
    space: SpaceTables,
    coder: Coder,
    artifacts: Iterable[SentArtifact],
    records: Iterable[SentRecord],
) -> None:
    """Copy artifacts, and their records in the same order, into a space."""
    parts = split_batches(records)
    ahead: list[SentRecord] = []
    for some in split_batches(artifacts):
        _copy_artifacts(space, some)
        fields = {each.row[0]: _pack_fields(each.row[4]) for each in some}
        while ahead or (ahead := next(parts, [])):
            mine = [each for each in ahead if each.row[0] <= some[-1].row[0]]
            if mine:
                _copy_records(space, coder, mine, fields)
            ahead = ahead[len(mine) :]
            if ahead:
                break


def _pack_fields(data: bytes) -> dict[str, bytes]:
    fields = unpack_bytes(data)
    fields[FIELD] = find_asset_type(fields)
    return {str(name): pack(value) for name, value in fields.items()}


def _copy_artifacts(space: SpaceTables, artifacts: Sequence[SentArtifact]) -> None:
    space.copy_rows(
        "artifacts",
        "artifact, id_key, name_key, row, stored",
        ["int8", "int8", "int8", "bytea", "bytea"],
        (
            (
                each.row[0],
                hash_id(each.row[1]),
                hash_name(each.row[2]),
                pack(each.row[1:]),
                pack((each.body, each.digest, each.indexed_at)),
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
    of_artifacts: Mapping[int, Mapping[str, bytes]],
) -> None:
    numbers = np.array([(each.row[0] << SURFACE_BITS) + each.row[2] for each in records], np.int64)
    fields = []
    for each in records:
        own = {str(name): pack(value) for name, value in unpack_bytes(each.row[4]).items()}
        fields.append({**of_artifacts[each.row[0]], **own, KIND: pack(each.row[1])})
    codes = coder.assign_codes(fields)
    space.copy_columns("slots", "record, codes", [("i8", numbers), ("i4", codes)])
    numbered = list(zip(numbers.tolist(), records, strict=True))
    space.copy_rows(
        "records",
        "record, row, stored",
        ["int8", "bytea", "bytea"],
        ((number, pack(each.row[1:]), _pack_text(each)) for number, each in numbered),
    )
    copy_vectors(space, {n: each.vector for n, each in numbered if each.vector is not None})
    waiting = [(number, each.row[5]) for number, each in numbered if each.vector is None]
    if waiting:
        space.copy_rows("waiting", "record, digest", ["int8", "bytea"], waiting)
    _copy_postings(space, numbers, records)


def _pack_text(record: SentRecord) -> bytes:
    """Return a record's id, granularity and text without the beginning that its row has."""
    rest = record.text.removeprefix(record.row[3])
    return pack((*record.label, rest, record.text.startswith(record.row[3])))


def copy_vectors(space: SpaceTables, vectors: Mapping[int, bytes]) -> None:
    """Add the vectors of records, by their numbers."""
    if vectors and space.dim:
        values = np.frombuffer(b"".join(vectors.values()), np.float32).reshape(-1, space.dim)
        numbers = np.array(list(vectors), np.int64)
        space.copy_columns("vectors", "record, vector", [("i8", numbers), ("f4", values)])


def _copy_postings(
    space: SpaceTables, numbers: NDArray[np.int64], records: Sequence[SentRecord]
) -> None:
    sizes = np.array([len(each.row[6]) // 4 for each in records])
    terms = np.frombuffer(b"".join(each.row[6] for each in records), np.int32)
    counts = np.frombuffer(b"".join(each.row[7] for each in records), np.float32)
    owners = np.repeat(np.arange(len(records)), sizes)
    lengths = np.bincount(owners, counts, minlength=len(records))
    space.copy_columns(
        "postings",
        "term, record, count, length",
        [("i4", terms), ("i8", numbers[owners]), ("f4", counts), ("f4", lengths[owners])],
    )


# The writer of a corpus: one row each, with a fence that grows whenever another writer takes it.
#
# Time is the server's. A lease that was not renewed in time may be taken by another writer, and the
# next write of the former holder is refused, however long it was away.

LEASE_S = 15


def take_lease(connection: Connection, corpus: str, holder: str, fence: int | None) -> int:
    """Take or renew the lease of a corpus; return its fence.

    `fence` is the one that this process had. A holder of the same name without a fence is the same
    program, restarted: it takes the lease, and the fence grows. Raises LeaseLost.
    """
    until = f"clock_timestamp() + interval '{LEASE_S} seconds'"
    taken = fetch_value(
        connection,
        "INSERT INTO irdaemon.leases AS l (corpus, holder, fence, until)"
        f" VALUES (%(corpus)s, %(holder)s, 1, {until}) ON CONFLICT (corpus) DO UPDATE SET"
        " holder = excluded.holder, until = excluded.until,"
        " fence = l.fence + CASE WHEN l.holder = excluded.holder AND l.fence = %(fence)s"
        "   THEN 0 ELSE 1 END"
        " WHERE l.until < clock_timestamp()"
        "   OR l.holder = excluded.holder AND (%(fence)s::bigint IS NULL OR l.fence = %(fence)s)"
        " RETURNING fence",
        {"corpus": corpus, "holder": holder, "fence": fence},
    )
    if taken is None:
        raise _make_lease_lost(connection, corpus)
    return int(taken)


def release_lease(connection: Connection, corpus: str, holder: str, fence: int) -> None:
    """Release a lease if it still has this fence."""
    connection.execute(
        "UPDATE irdaemon.leases SET until = '-infinity'"
        " WHERE corpus = %s AND holder = %s AND fence = %s",
        (corpus, holder, fence),
    )


def check_fence(connection: Connection, corpus: str, fence: int, *, hold: bool = False) -> None:
    """Raise LeaseLost if a fence is not the newest.

    With `hold`, no other fence can be issued before the transaction ends.
    """
    asked = f"SELECT fence FROM irdaemon.leases WHERE corpus = %s{' FOR SHARE' if hold else ''}"
    if fetch_value(connection, asked, (corpus,)) != fence:
        raise _make_lease_lost(connection, corpus)


def _make_lease_lost(connection: Connection, corpus: str) -> LeaseLost:
    row = connection.execute(
        "SELECT holder, ceil(extract(epoch FROM until - clock_timestamp()))"
        " FROM irdaemon.leases WHERE corpus = %s",
        (corpus,),
    ).fetchone()
    if row is None:
        return LeaseLost(
            f"no process holds the lease of corpus {corpus!r}", "take it before writing"
        )
    holder, left = row
    return LeaseLost(
        f"corpus {corpus!r} is written by {holder}",
        "nothing was changed; the lease can be taken over"
        + (f" in {int(left)} s, unless it is renewed" if left > 0 else " now"),
    )


# The smaller parts of a delta: deletions, late vectors, words and their counts.
#
# Anything that is no longer referenced is removed in the same transaction, including words.

_AT_ONCE = 1_000
_WORDS_AT_ONCE = 10_000
# A form begins with `=`; what follows is the word that counts (see `index.FORM`).
_FORM = "="
# The index of the terms in the row of a record.
_TERMS = 5


def remove_artifacts(space: SpaceTables, coder: Coder, gone: Sequence[int]) -> set[int]:
    """Remove artifacts with all of their records; return the terms of their names."""
    named: set[int] = set()
    for some in split_batches(gone, _AT_ONCE):
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
    terms = [np.frombuffer(unpack_bytes(row)[_TERMS], np.int32) for _, row in rows]
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
    for some in split_batches(vectors, _AT_ONCE):
        rows = space.run(
            "DELETE FROM {table} WHERE space = %s AND digest = ANY (%s::bytea[])"
            " RETURNING record, digest",
            "waiting",
            space.number,
            some,
        )
        copy_vectors(space, {record: vectors[bytes(digest)] for record, digest in rows})


def add_words(connection: Connection, ledger: int, words: Mapping[str, int]) -> None:
    """Add the words of a ledger that are missing."""
    for some in split_batches(words.items(), _WORDS_AT_ONCE):
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
                [encode_text(word) for word, _ in some],
            ),
        )


def count_terms(space: SpaceTables, df: Mapping[int, int]) -> None:
    """Store how many records hold each of some terms."""
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
    """Remove words that no record or name of the ledger's corpora holds; None: check all words.

    Then also remove ledgers without corpora, with all their words.
    """
    if not (terms is None or terms):
        return
    asked = "SELECT space FROM irdaemon.corpora WHERE ledger = %s"
    spaces = [space for (space,) in connection.execute(asked, (ledger,))]
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


# The channel that announces a new generation.
CHANNEL = "irdaemon"
# The longest time that searches may wait for an old space to be dropped; else retry later.
_LOCK_MS = 2_000
# Building the graph of a million vectors takes minutes.
_BUILD_S = 3_600.0
_OLD = "SELECT space FROM irdaemon.spaces WHERE space NOT IN (SELECT space FROM irdaemon.corpora)"


@contextlib.contextmanager
def write_transaction(connection: Connection) -> Iterator[None]:
    """Run the block in one transaction, which sees all corpora."""
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
        ledger = _lock_ledger(connection, totals.ledger)
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
                "it must be sent whole",
            )
        if delta.base and row:
            _change(SpaceTables(connection, row[2], row[3], made=False), delta, ledger)
        else:
            _send_whole(connection, delta, ledger, hnsw_above)
        said = f"{totals.corpus} {totals.generation}"
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, said))
        due = _is_large(totals, hnsw_above) or fetch_value(connection, f"SELECT EXISTS ({_OLD})")
        check_fence(connection, totals.corpus, delta.fence, hold=True)
    return bool(due)


def drop_corpus(connection: Connection, corpus: str, fence: int) -> None:
    """Remove a corpus. Raises NotFound, LeaseLost."""
    with write_transaction(connection):
        check_fence(connection, corpus, fence, hold=True)
        removed = "DELETE FROM irdaemon.corpora WHERE corpus = %s RETURNING ledger"
        ledger = fetch_value(connection, removed, (corpus,))
        if ledger is None:
            raise NotFound(f"there is no corpus {corpus!r}")
        erase_words(connection, ledger, None)


def tidy(connection: Connection, hnsw_above: int) -> None:
    """Remove spaces that are no longer searched, and index the vectors of spaces that grew."""
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
            with wait_longer(connection, _BUILD_S):
                connection.execute("SELECT irdaemon.index_vectors(%s)", (space,))


def _lock_ledger(connection: Connection, identity: str) -> int:
    """Return the number of a ledger and lock its corpora against other transactions."""
    connection.execute(
        "INSERT INTO irdaemon.ledgers (identity) VALUES (%s) ON CONFLICT DO NOTHING", (identity,)
    )
    asked = "SELECT ledger FROM irdaemon.ledgers WHERE identity = %s FOR UPDATE"
    return int(fetch_value(connection, asked, (identity,)))


def _change(space: SpaceTables, delta: IndexDelta, ledger: int) -> None:
    coder = Coder(space)
    named = remove_artifacts(space, coder, delta.gone)
    _add(space, coder, delta, ledger)
    add_late_vectors(space, delta.vectors)
    _note(space, delta, ledger)
    unused = {term for term, df in delta.df.items() if not df} | named
    erase_words(space.connection, ledger, sorted(unused))


def _send_whole(connection: Connection, delta: IndexDelta, ledger: int, hnsw_above: int) -> None:
    totals = delta.totals
    created = "SELECT irdaemon.create_space(%s, %s)"
    number = fetch_value(connection, created, (totals.corpus, totals.dim))
    space = SpaceTables(connection, number, totals.dim, made=True)
    _add(space, Coder(space), delta, ledger)
    with wait_longer(connection, _BUILD_S):
        connection.execute("SELECT irdaemon.finish_space(%s)", (space.number,))
        if _is_large(totals, hnsw_above):
            connection.execute("SELECT irdaemon.index_vectors(%s)", (space.number,))
    _note(space, delta, ledger)
    erase_words(connection, ledger, None)


def _add(space: SpaceTables, coder: Coder, delta: IndexDelta, ledger: int) -> None:
    copy_streams(space, coder, delta.artifacts, delta.records)
    coder.finish()
    add_words(space.connection, ledger, delta.words)
    count_terms(space, delta.df)


def _is_large(totals: Totals, hnsw_above: int) -> bool:
    """Return whether vectors of a corpus are searched through a graph."""
    return totals.n_embedded >= max(hnsw_above, 1)


def _note(space: SpaceTables, delta: IndexDelta, ledger: int) -> None:
    """Make this the space that the corpus is searched in, as of the delta's generation."""
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
            pack(dump_totals(totals)),
        ),
    )
