"""The smaller parts of a delta: what went, vectors that came late, words and their counts.

What nothing holds any more is removed in the same transaction, words among it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from irdaemon.index.backends.postgres.coding import Coder
from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.postgres.packing import SURFACE_BITS, bytes_of, unpacked
from irdaemon.index.backends.postgres.space import SpaceTables
from irdaemon.index.backends.postgres.streams import copy_vectors

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
