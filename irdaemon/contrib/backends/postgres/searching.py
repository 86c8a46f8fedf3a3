"""The part of a corpus that a query needs: three exchanges with the server, in one view of it.

Both legs are one statement, with the filter inside. Sums in another order differ in the last
digits, so a leg gives a few more than are wanted: all that may belong to its top. The scores
themselves are made from the records, as of any index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from irdaemon.contrib.backends.postgres.connections import Connection
from irdaemon.contrib.backends.postgres.packing import SURFACE_BITS, hash_id
from irdaemon.contrib.backends.postgres.view import (
    CorpusView,
    KeptValues,
    SpaceFields,
    check_space,
    end_view,
    open_view,
)
from irdaemon.contrib.backends.state import unpack_bytes
from irdaemon.index.backend import Found, Wanted

# Of pgvector's binary form: dimension, and two bytes that are not used.
_VECTOR_HEAD = 4

# Sums of 32-bit numbers differ by less than this share of them, those of 64-bit ones by less
# than the other.
_SHARE = 1e-5
_EXACT_SHARE = 1e-6
_DISTANCE = 1e-5
# This many vectors come beyond those wanted, for ties, before ties are asked for separately.
_TIED = 100
# What a search through a graph looks at; pgvector's most is 1,000.
_EF_SEARCH = 200
_MOST_EF_SEARCH = 1_000

_LEXICAL, _DENSE, _NAMED, _CALLED, _COUNT = range(5)

_BM25 = (
    "q.idf * p.count * (%(k1)s + 1) / (p.count"
    " + greatest(%(k1)s * (1 - %(b)s + %(b)s * p.length / %(mean)s), 1e-7))"
)
_SCORED = f"""
    SELECT p.record, sum({_BM25}) AS score
    FROM unnest(%(terms)s::int[], %(idfs)s::float8[]) AS q (term, idf)
    JOIN irdaemon.postings AS p ON p.space = %(space)s AND p.term = q.term
    WHERE p.count > 0 {{eligible}} GROUP BY p.record"""
_NEAREST = """
    SELECT record, {distance} AS distance FROM irdaemon.vectors AS p
    WHERE space = %(space)s {eligible} ORDER BY distance LIMIT %(nearest)s"""


def find_records(
    connection: Connection,
    corpus: str,
    wanted: Wanted,
    kept: KeptValues,
    hnsw_above: int,
) -> Found:
    """Return the part of a corpus that a query needs. Raises NotFound, SpaceGone."""
    view = open_view(connection, corpus, (*wanted.ranked, *wanted.others))
    condition = None
    if wanted.where or wanted.surfaces:
        if corpus not in kept or kept[corpus][0] != view.space:
            kept[corpus] = (view.space, {})
        fields = SpaceFields(connection, view.space, view.fields, kept[corpus][1])
        condition = fields.make_condition(wanted.where, wanted.surfaces)
    rows = _rank_legs(view, wanted, condition, hnsw_above)
    records = sorted({number for part, number, _ in rows if part in (_LEXICAL, _DENSE, _NAMED)})
    named = {number for part, number, _ in rows if part == _CALLED}
    eligible = next(number for part, number, _ in rows if part == _COUNT)
    if condition is None:
        eligible = view.totals.n_records
    return _fetch(view, records, named, eligible)


def _fetch(view: CorpusView, records: Sequence[int], named: set[int], eligible: int) -> Found:
    owners = sorted(named | {record >> SURFACE_BITS for record in records})
    connection = view.connection
    with connection.pipeline():
        found = connection.execute(
            "SELECT r.record, r.row, v.vector FROM irdaemon.records AS r"
            " LEFT JOIN irdaemon.vectors AS v ON v.space = %(space)s AND v.record = r.record"
            " WHERE r.space = %(space)s AND r.record = ANY (%(records)s::bigint[])"
            " ORDER BY r.record",
            {"space": view.space, "records": records},
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
    check_space(there)
    rows = found.fetchall()
    return Found(
        totals=view.totals,
        artifacts=[(number, *unpack_bytes(row)) for number, row in artifacts.fetchall()],
        records=[(number >> SURFACE_BITS, *unpack_bytes(row)) for number, row, _ in rows],
        vectors=[_read_vector(vector) for _, _, vector in rows],
        words=view.words,
        df={**view.df, **{term: df or 0 for term, df in naming.fetchall()}},
        eligible=eligible,
    )


def _read_vector(data: bytes | None) -> bytes | None:
    if data is None:
        return None
    return np.frombuffer(data, ">f4", offset=_VECTOR_HEAD).astype("<f4").tobytes()


def count_above(connection: Connection, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
    """Count the records that a leg scores above `score`."""
    view = open_view(connection, corpus, wanted.ranked)
    values = _list_bm25_values(view, wanted)
    above = score + abs(score) * _EXACT_SHARE + _EXACT_SHARE
    if leg == "lexical":
        statement: Any = (
            f"SELECT count(*) FROM ({_SCORED.format(eligible='')}) AS s WHERE score > %(above)s"
        )
        row = connection.execute(statement, {**values, "above": above}).fetchone()
    elif wanted.vector is None or not view.totals.dim:
        row = (0,)
    else:
        text = "SELECT count(*) FROM irdaemon.vectors WHERE space = %(space)s AND ({}) < %(below)s"
        row = connection.execute(
            sql.SQL(text).format(_make_distance(view)),
            {"space": view.space, "below": -above, "vector": _format_vector(wanted.vector)},
        ).fetchone()
    connection.execute("COMMIT")
    return int(row[0]) if row else 0


def _rank_legs(
    view: CorpusView, wanted: Wanted, condition: sql.Composable | None, hnsw_above: int
) -> list[tuple[int, int, float]]:
    """Return what the statement of the legs selects: which part a row is of, number and score."""
    graph = condition is None and view.totals.n_embedded >= hnsw_above
    near = Nearness.plan(view, wanted, graph=graph)
    while True:
        rows = _ask(view, wanted, near, condition)
        distances = [distance for part, _, distance in rows if part == _DENSE]
        wider = near.widen(distances, wanted.depth)
        if wider is None:
            return rows
        near = wider


def _list_bm25_values(view: CorpusView, wanted: Wanted) -> dict[str, Any]:
    """Return the values that `_SCORED` is asked with."""
    terms = [view.words[word] for word in wanted.ranked if word in view.words]
    df = np.array([view.df[term] for term in terms], np.float64)
    idfs = np.log1p((view.totals.n_records - df + 0.5) / (df + 0.5))
    return {
        "space": view.space,
        "terms": terms,
        "idfs": idfs.tolist(),
        "k1": float(wanted.k1),
        "b": float(wanted.b),
        "mean": float(view.totals.mean_length),
    }


@dataclass(frozen=True, slots=True)
class Nearness:
    """How the nearest vectors are asked for: how many, through a graph or not, or how near."""

    distance: sql.Composable | None
    values: Mapping[str, Any]
    plain: sql.Composable | None = None
    graph: bool = False
    least: float | None = None

    @classmethod
    def plan(cls, view: CorpusView, wanted: Wanted, graph: bool) -> Nearness:
        """Return how the query's vector is asked for first."""
        if wanted.vector is None or not view.totals.dim:
            return cls(None, {"nearest": 0, "vector": None})
        graph = graph and 2 * wanted.depth <= _MOST_EF_SEARCH
        nearest = 2 * wanted.depth if graph else wanted.depth + _TIED
        return cls(
            _make_distance(view, view.totals.dim if graph else None),
            {"nearest": nearest, "vector": _format_vector(wanted.vector)},
            _make_distance(view),
            graph,
        )

    def widen(self, distances: Sequence[float], depth: int) -> Nearness | None:
        """Return how to ask for all that belong to the top, where these may not be all."""
        if self.distance is None or self.least is not None:
            return None
        if self.graph:
            short = len(distances) < depth
            values = {**self.values, "nearest": depth + _TIED}
            return Nearness(self.plain, values, self.plain) if short else None
        least = distances[depth - 1] + _DISTANCE if len(distances) >= depth else 0.0
        if len(distances) < depth + _TIED or distances[-1] > least:
            return None
        return replace(self, values={**self.values, "nearest": None}, least=least)


def _make_distance(view: CorpusView, dim: int | None = None) -> sql.Composable:
    """Return the distance to the vector asked for: the negative inner product.

    With `dim`, in the form that the graph indexes.
    """
    schema = sql.Identifier(view.vector_schema)
    kind = sql.SQL("{}.vector").format(schema)
    each: sql.Composable = sql.Identifier("vector")
    if dim:
        kind = sql.SQL("{}({})").format(kind, sql.Literal(dim))
        each = sql.SQL("(vector::{})").format(kind)
    return sql.SQL("{} OPERATOR({}.<#>) %(vector)s::{}").format(each, schema, kind)


def _format_vector(vector: NDArray[np.float32]) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _ask(
    view: CorpusView, wanted: Wanted, near: Nearness, condition: sql.Composable | None
) -> list[tuple[int, int, float]]:
    values = {
        **_list_bm25_values(view, wanted),
        **near.values,
        "names": list(wanted.names),
        "ids": [hash_id(artifact_id) for artifact_id in wanted.including],
        "least": near.least,
        "depth": wanted.depth,
        "share": 1 - _SHARE,
        "bits": 1 << SURFACE_BITS,
    }
    with view.connection.pipeline():
        if near.graph:
            ef = max(_EF_SEARCH, near.values["nearest"])
            view.connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(ef),))
        done = view.connection.execute(_make_statement(near, condition), values, binary=True)
    rows: list[tuple[int, int, float]] = done.fetchall()
    return rows


def _make_statement(near: Nearness, condition: sql.Composable | None) -> sql.Composed:
    test = condition or sql.SQL("true")
    only = sql.SQL("" if condition is None else "AND p.record IN (SELECT record FROM eligible)")
    count = "0::bigint" if condition is None else "(SELECT count(*) FROM eligible)"
    nearest: sql.Composable = sql.SQL("SELECT 0::bigint AS record, 0::float8 AS distance LIMIT 0")
    if near.distance is not None:
        nearest = sql.SQL(_NEAREST).format(distance=near.distance, eligible=only)
        if near.least is not None:
            kept = sql.SQL("SELECT * FROM ({}) AS n WHERE distance <= %(least)s")
            nearest = kept.format(nearest)
    return sql.SQL(f"""
        WITH eligible AS MATERIALIZED (
            SELECT record FROM irdaemon.slots WHERE space = %(space)s AND {{test}}),
        scored AS MATERIALIZED ({_SCORED}),
        nearest AS ({{nearest}}),
        called AS MATERIALIZED (
            SELECT artifact, id_key = ANY (%(ids)s::bigint[]) AS included FROM irdaemon.artifacts
            WHERE space = %(space)s
            AND (name_key = ANY (%(names)s::bigint[]) OR id_key = ANY (%(ids)s::bigint[])))
        SELECT {_LEXICAL}, record, score FROM scored WHERE score > 0 AND score >= coalesce(
            (SELECT score FROM scored ORDER BY score DESC OFFSET %(depth)s - 1 LIMIT 1), 0
        ) * %(share)s
        UNION ALL SELECT {_DENSE}, record, distance FROM nearest
        UNION ALL SELECT {_NAMED}, s.record, 0 FROM called AS c CROSS JOIN LATERAL (
            SELECT record FROM irdaemon.slots WHERE space = %(space)s
            AND record >= c.artifact * %(bits)s AND record < (c.artifact + 1) * %(bits)s
            AND (c.included OR {{test}}) OFFSET 0) AS s
        UNION ALL SELECT {_CALLED}, artifact, 0 FROM called
        UNION ALL SELECT {_COUNT}, {count}, 0
        """).format(test=test, eligible=only, nearest=nearest)
