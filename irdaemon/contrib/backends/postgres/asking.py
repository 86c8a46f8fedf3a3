"""The smaller questions about a corpus, each in a transaction that sees one state of it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import sql

from irclient.errors import NotFound
from irdaemon.contrib.backends.postgres.connections import Connection
from irdaemon.contrib.backends.postgres.legs import bm25_values, distance_to, legs, scored
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    bytes_of,
    id_key,
    text_of,
    unpacked,
    unpacked_totals,
    vector_text,
)
from irdaemon.contrib.backends.postgres.view import (
    CorpusView,
    KeptValues,
    SpaceFields,
    begin_reading,
    check_there,
    end_view,
    look_at,
)
from irdaemon.index.backend import Found, StoredText, Totals, Wanted

# The part of a corpus that a query needs: three exchanges with the server, in one view of it.

# Of pgvector's binary form: dimension, and two bytes that are not used.
_VECTOR_HEAD = 4


def find(
    connection: Connection,
    corpus: str,
    wanted: Wanted,
    kept: KeptValues,
    hnsw_above: int,
) -> Found:
    """Return the part of a corpus that a query needs. Raises NotFound, SpaceGone."""
    view = look_at(connection, corpus, (*wanted.ranked, *wanted.others))
    condition = None
    if wanted.where or wanted.surfaces:
        if corpus not in kept or kept[corpus][0] != view.space:
            kept[corpus] = (view.space, {})
        fields = SpaceFields(connection, view.space, view.fields, kept[corpus][1])
        condition = fields.condition(wanted.where, wanted.surfaces)
    chosen = legs(view, wanted, condition, hnsw_above)
    n_eligible = view.totals.n_records if condition is None else chosen.eligible
    return _with_rows(view, chosen.records, chosen.artifacts, n_eligible)


def _with_rows(
    view: CorpusView, records: Sequence[int], named: Sequence[int], n_eligible: int
) -> Found:
    owners = sorted({*named, *(record >> SURFACE_BITS for record in records)})
    connection = view.connection
    with connection.pipeline():
        found = connection.execute(
            "SELECT r.record, r.row, v.vector FROM irdaemon.records AS r"
            " LEFT JOIN irdaemon.vectors AS v ON v.space = %(space)s AND v.record = r.record"
            " WHERE r.space = %(space)s AND r.record = ANY (%(records)s::bigint[])"
            " ORDER BY r.record",
            {"space": view.space, "records": list(records)},
            binary=True,
        )
        artifacts = connection.execute(
            "SELECT artifact, row FROM irdaemon.artifacts WHERE space = %s"
            " AND artifact = ANY (%s::bigint[]) ORDER BY artifact",
            (view.space, owners),
            binary=True,
        )
        naming = connection.execute(
            "SELECT n.term, f.df FROM (SELECT DISTINCT term FROM irdaemon.naming"
            "  WHERE space = %(space)s AND artifact = ANY (%(owners)s::bigint[])) AS n"
            " LEFT JOIN irdaemon.frequencies AS f ON f.space = %(space)s AND f.term = n.term",
            {"space": view.space, "owners": owners},
            binary=True,
        )
        there = end_view(view)
    check_there(there)
    rows = found.fetchall()
    return Found(
        totals=view.totals,
        artifacts=[(number, *unpacked(row)) for number, row in artifacts.fetchall()],
        records=[(number >> SURFACE_BITS, *unpacked(row)) for number, row, _ in rows],
        vectors=_vectors([vector for _, _, vector in rows]),
        words=view.words,
        df={**view.df, **{term: df or 0 for term, df in naming.fetchall()}},
        eligible=n_eligible,
    )


def _vectors(received: Sequence[bytes | None]) -> list[bytes | None]:
    return [
        None
        if data is None
        else np.frombuffer(data, ">f4", offset=_VECTOR_HEAD).astype("<f4").tobytes()
        for data in received
    ]


# Two sums of the same numbers in another order differ by less.
_SHARE = 1e-6

_SPACE = "(SELECT space FROM irdaemon.corpora WHERE corpus = %(corpus)s)"


@contextlib.contextmanager
def reading(connection: Connection) -> Iterator[None]:
    """Do the work inside in one transaction that sees one state of the server."""
    with connection.pipeline():
        begin_reading(connection)
    yield
    connection.execute("COMMIT")


def totals(connection: Connection) -> dict[str, Totals]:
    """Return what is known of every corpus in the request's scope, in the order they came."""
    with reading(connection):
        rows = connection.execute(
            "SELECT corpus, totals FROM irdaemon.corpora ORDER BY place", binary=True
        ).fetchall()
    return {corpus: unpacked_totals(data) for corpus, data in rows}


def generation(connection: Connection, corpus: str) -> int:
    """Return the generation of a corpus; 0 for one that is not there."""
    with reading(connection):
        row = connection.execute(
            "SELECT generation FROM irdaemon.corpora WHERE corpus = %s", (corpus,)
        ).fetchone()
    return int(row[0]) if row else 0


def words(connection: Connection, corpus: str, wanted: Collection[str]) -> Mapping[str, int]:
    """Return the term ids of the words that the corpus' ledger knows."""
    rows = _rows(
        connection,
        corpus,
        "SELECT word, term FROM irdaemon.words WHERE word = ANY (%(words)s::bytea[]) AND ledger ="
        " (SELECT ledger FROM irdaemon.corpora WHERE corpus = %(corpus)s)",
        {"words": [bytes_of(word) for word in wanted]},
    )
    return {text_of(word): term for word, term in rows}


def frequencies(connection: Connection, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
    """Return how many records hold each of some terms, by id."""
    rows = _rows(
        connection,
        corpus,
        f"SELECT term, df FROM irdaemon.frequencies WHERE space = {_SPACE}"
        " AND term = ANY (%(terms)s::int[])",
        {"terms": list(terms)},
    )
    return dict(rows)


def words_like(
    connection: Connection, corpus: str, initials: Collection[str], lengths: range
) -> Collection[str]:
    """Return the words that records of a corpus hold, by their first letter and length."""
    rows = _rows(
        connection,
        corpus,
        "SELECT w.word FROM irdaemon.words AS w"
        f" JOIN irdaemon.frequencies AS f ON f.space = {_SPACE} AND f.term = w.term"
        " WHERE w.ledger = (SELECT ledger FROM irdaemon.corpora WHERE corpus = %(corpus)s)"
        " AND w.initial = ANY (%(initials)s::int[])"
        " AND w.length BETWEEN %(shortest)s AND %(longest)s",
        {
            "initials": [ord(letter) for letter in initials],
            "shortest": lengths.start,
            "longest": lengths.stop - 1,
        },
    )
    return [text_of(word) for (word,) in rows]


def rank(connection: Connection, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
    """Count the records that a leg scores above `score`."""
    view = look_at(connection, corpus, wanted.ranked)
    values = bm25_values(view, wanted)
    above = score + abs(score) * _SHARE + _SHARE
    if leg == "lexical":
        statement: Any = f"SELECT count(*) FROM ({scored()}) AS s WHERE score > %(above)s"
        row = connection.execute(statement, {**values, "above": above}).fetchone()
    elif wanted.vector is None or not view.totals.dim:
        row = (0,)
    else:
        text = "SELECT count(*) FROM irdaemon.vectors WHERE space = %(space)s AND ({}) < %(below)s"
        row = connection.execute(
            sql.SQL(text).format(distance_to(view)),
            {"space": view.space, "below": -above, "vector": vector_text(wanted.vector)},
        ).fetchone()
    connection.execute("COMMIT")
    return int(row[0]) if row else 0


def stored(
    connection: Connection, corpus: str, artifact_ids: Collection[str]
) -> Mapping[str, StoredText]:
    """Return the texts of artifacts as they were stored, by id."""
    wanted = set(artifact_ids)
    rows = _rows(
        connection,
        corpus,
        f"SELECT artifact, row, stored FROM irdaemon.artifacts WHERE space = {_SPACE}"
        " AND id_key = ANY (%(keys)s::bigint[])",
        {"keys": [id_key(artifact_id) for artifact_id in wanted]},
    )
    found = [(number, unpacked(row), unpacked(text)) for number, row, text in rows]
    found = [each for each in found if each[1][0] in wanted]
    records = _stored_records(connection, corpus, [number for number, _, _ in found])
    return {
        row[0]: StoredText(
            artifact_id=row[0],
            name=row[1],
            pointer=row[2],
            body=text[0],
            digest=text[1],
            fields=unpacked(row[3]),
            indexed_at=text[2],
            records=records[number],
        )
        for number, row, text in found
    }


def _stored_records(
    connection: Connection, corpus: str, numbers: list[int]
) -> dict[int, list[dict[str, Any]]]:
    rows = _rows(
        connection,
        corpus,
        "SELECT r.record, r.row, r.stored FROM unnest(%(numbers)s::bigint[]) AS n (number)"
        f" JOIN irdaemon.records AS r ON r.space = {_SPACE}"
        " AND r.record BETWEEN n.number * %(bits)s AND (n.number + 1) * %(bits)s - 1"
        " ORDER BY r.record",
        {"numbers": numbers, "bits": 1 << SURFACE_BITS},
    )
    records: dict[int, list[dict[str, Any]]] = {number: [] for number in numbers}
    for record, row, text in rows:
        records[record >> SURFACE_BITS].append(_record(unpacked(row), unpacked(text)))
    return records


def _record(row: list[Any], text: list[Any]) -> dict[str, Any]:
    kind, surface, summary, metadata = row[:4]
    record_id, granularity, rest, begins = text
    return {
        "record_id": record_id,
        "kind": kind,
        "granularity": granularity,
        "surface_index": surface,
        "text": summary + rest if begins else rest,
        "metadata": unpacked(metadata),
    }


def numbers(connection: Connection, corpus: str) -> list[int]:
    """Return the row numbers of the artifacts there are, ascending."""
    asked = f"SELECT artifact FROM irdaemon.artifacts WHERE space = {_SPACE} ORDER BY artifact"
    return [number for (number,) in _rows(connection, corpus, asked, {})]


def without_vector(connection: Connection, corpus: str) -> list[bytes]:
    """Return the digests of the records that have no vector."""
    asked = f"SELECT DISTINCT digest FROM irdaemon.waiting WHERE space = {_SPACE}"
    return [bytes(digest) for (digest,) in _rows(connection, corpus, asked, {})]


def _rows(
    connection: Connection, corpus: str, statement: str, values: Mapping[str, Any]
) -> list[Any]:
    """Return what a statement gives. Raises NotFound for a corpus that is not there."""
    with reading(connection):
        there = connection.execute(f"SELECT {_SPACE}", {"corpus": corpus}).fetchone()
        rows = connection.execute(statement, {"corpus": corpus, **values}, binary=True).fetchall()
    if there is None or there[0] is None:
        raise NotFound(f"there is no corpus {corpus!r}")
    return rows
