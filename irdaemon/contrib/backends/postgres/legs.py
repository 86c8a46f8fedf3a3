"""Both legs in one statement: which records are near the top, with the filter inside.

Sums in another order differ in the last digits, so a leg gives a few more than are wanted: all that
may belong to its top. The scores themselves are made from the records, as of any index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from psycopg import sql

from irdaemon.contrib.backends.postgres.packing import SURFACE_BITS, id_key, vector_text
from irdaemon.contrib.backends.postgres.view import CorpusView
from irdaemon.index.backend import Wanted

# Sums of 32-bit numbers differ by less than this share of them.
_SHARE = 1e-5
_DISTANCE = 1e-5
# Of vectors at one distance so many come beyond those wanted, before they are asked for apart.
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


@dataclass(frozen=True, slots=True)
class LegRecords:
    """The records that a query needs, the artifacts that it names, and how many are eligible."""

    records: Sequence[int]
    artifacts: Sequence[int]
    eligible: int


def legs(
    view: CorpusView, wanted: Wanted, condition: sql.Composable | None, hnsw_above: int
) -> LegRecords:
    """Return the records near the top of either leg, and those of what the query names."""
    graph = condition is None and view.totals.n_embedded >= hnsw_above
    near: Nearness | None = Nearness.of(view, wanted, graph=graph)
    while near:
        rows = _asked(view, wanted, near, condition)
        near = near.wider([distance for part, _, distance in rows if part == _DENSE], wanted.depth)
    return LegRecords(
        sorted({number for part, number, _ in rows if part in (_LEXICAL, _DENSE, _NAMED)}),
        sorted({number for part, number, _ in rows if part == _CALLED}),
        next(number for part, number, _ in rows if part == _COUNT),
    )


def bm25_values(view: CorpusView, wanted: Wanted) -> dict[str, Any]:
    """Return the values that `scored` is asked with."""
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


def scored() -> str:
    """Return the statement that gives each record that holds a wanted term, with its score."""
    return _SCORED.format(eligible="")


@dataclass(frozen=True, slots=True)
class Nearness:
    """How the nearest vectors are asked for: how many, through a graph or not, or how near."""

    distance: sql.Composable | None
    values: Mapping[str, Any]
    plain: sql.Composable | None = None
    graph: bool = False
    least: float | None = None

    @classmethod
    def of(cls, view: CorpusView, wanted: Wanted, graph: bool) -> Nearness:
        """Return how the query's vector is asked for first."""
        if wanted.vector is None or not view.totals.dim:
            return cls(None, {"nearest": 0, "vector": None})
        graph = graph and 2 * wanted.depth <= _MOST_EF_SEARCH
        nearest = 2 * wanted.depth if graph else wanted.depth + _TIED
        return cls(
            distance_to(view, view.totals.dim if graph else None),
            {"nearest": nearest, "vector": vector_text(wanted.vector)},
            distance_to(view),
            graph,
        )

    def wider(self, distances: Sequence[float], depth: int) -> Nearness | None:
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


def distance_to(view: CorpusView, dim: int | None = None) -> sql.Composable:
    """Return the distance to the vector asked for: the negative inner product.

    With `dim` as the graph has it.
    """
    schema = sql.Identifier(view.vector_schema)
    kind = sql.SQL("{}.vector").format(schema)
    each: sql.Composable = sql.Identifier("vector")
    if dim:
        kind = sql.SQL("{}({})").format(kind, sql.Literal(dim))
        each = sql.SQL("(vector::{})").format(kind)
    return sql.SQL("{} OPERATOR({}.<#>) %(vector)s::{}").format(each, schema, kind)


def _names(wanted: Wanted) -> dict[str, Any]:
    return {
        "names": list(wanted.names),
        "ids": [id_key(artifact_id) for artifact_id in wanted.including],
    }


def _asked(
    view: CorpusView, wanted: Wanted, near: Nearness, condition: sql.Composable | None
) -> list[tuple[int, int, float]]:
    values = {
        **bm25_values(view, wanted),
        **near.values,
        **_names(wanted),
        "least": near.least,
        "depth": wanted.depth,
        "share": 1 - _SHARE,
        "bits": 1 << SURFACE_BITS,
    }
    with view.connection.pipeline():
        if near.graph:
            ef = max(_EF_SEARCH, near.values["nearest"])
            view.connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(ef),))
        done = view.connection.execute(_statement(near, condition), values, binary=True)
    rows: list[tuple[int, int, float]] = done.fetchall()
    return rows


def _statement(near: Nearness, condition: sql.Composable | None) -> sql.Composed:
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
