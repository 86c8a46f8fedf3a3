"""Fetch the part of a corpus that a query needs: three round trips, in one view of the server.

Both legs are one statement, including the filter. Sums in another order differ in the last digits,
so a leg returns a few more records than needed: all that may belong to its top. The scores
themselves are computed from the records, as in any index.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from irclient.errors import NotFound
from irdaemon.contrib.backends.postgres.coding import KIND
from irdaemon.contrib.backends.postgres.connections import Connection
from irdaemon.contrib.backends.postgres.packing import (
    SURFACE_BITS,
    decode_text,
    encode_text,
    hash_id,
)
from irdaemon.contrib.backends.state import get_scope, load_totals, unpack_bytes
from irdaemon.index.backend import Found, Totals, Wanted
from irdaemon.index.columns import Column, mask_column

# The header of pgvector's binary form: the dimension, and two unused bytes.
_VECTOR_HEAD = 4

# Relative error of sums of 32-bit numbers in another order, and of 64-bit ones.
_SHARE = 1e-5
_EXACT_SHARE = 1e-6
_DISTANCE = 1e-5
# Fetch this many extra vectors for ties, before asking for ties separately.
_TIED = 100
# The candidates that a graph search examines; pgvector's maximum is 1,000.
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
        slots = f"irdaemon.slots_{view.space}"
        there: Any = connection.execute("SELECT to_regclass(%s)", (slots,))
        connection.execute("COMMIT")
    if there.fetchone()[0] is None:
        raise SpaceGone
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
    """Return the rows of the legs' statement: the part that a row belongs to, number and score."""
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
    """Return the parameters of `_SCORED`."""
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
    """How to ask for the nearest vectors: how many, with or without a graph, or how near."""

    distance: sql.Composable | None
    values: Mapping[str, Any]
    plain: sql.Composable | None = None
    graph: bool = False
    least: float | None = None

    @classmethod
    def plan(cls, view: CorpusView, wanted: Wanted, graph: bool) -> Nearness:
        """Plan the first request for the query's vector."""
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
        """Return how to ask for the whole top, if these results may not be all of it."""
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
    """Return the distance to the query's vector: the negative inner product.

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
    """Return a vector in pgvector's text form."""
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


# One state of a corpus, as a transaction sees it.

# Filters as SQL conditions: on the codes of values, with the predicates of any other filter.
#
# A condition on a field is evaluated here on the field's distinct values, which gives the codes
# that meet it. The server only compares codes, so the meaning of a filter is implemented once.
# Values are cached between queries; only new ones are read.


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The distinct values of a field: `codes[i]` is the code of the column's ith record.

    The first is that of a missing value, 0. `last` is the highest known code.
    """

    column: Column = field(default_factory=lambda: Column(np.zeros(1, np.int32)))
    codes: list[int] = field(default_factory=lambda: [0])
    last: int = 0

    def add_rows(self, rows: list[tuple[int, bytes]]) -> FieldValues:
        """Return a copy with more values, by ascending code."""
        # Other threads may be reading this one, or adding the same values to it.
        old = self.column
        column = Column(old.codes, [*old.values], {**old.code_of}, [*old.compound])
        more = [column.encode_value(unpack_bytes(value)) for _, value in rows]
        grown = replace(column, codes=np.concatenate([old.codes, np.array(more, np.int32)]))
        codes = [*self.codes, *(code for code, _ in rows)]
        return FieldValues(grown, codes, codes[-1])


# The values of fields, by number, in the space of a corpus.
KeptValues = dict[str, tuple[int, dict[int, FieldValues]]]


@dataclass(frozen=True, slots=True)
class SpaceFields:
    """The fields of one space as a transaction sees them: number and last code, by name."""

    connection: Connection
    space: int
    fields: Mapping[str, tuple[int, int]]
    kept: dict[int, FieldValues]

    def make_condition(self, where: Mapping[str, Any], kinds: frozenset[str]) -> sql.Composable:
        """Return the condition on `codes` for a valid filter and the wanted kinds."""
        parts = [self._make_part(name, condition) for name, condition in where.items()]
        if kinds:
            parts.append(self._test_field(KIND, {"$in": sorted(kinds)}))
        return _join(parts, "AND", "true")

    def _make_part(self, name: str, condition: Any) -> sql.Composable:
        if name == "$not":
            return sql.SQL("NOT ({})").format(self.make_condition(condition, frozenset()))
        if name in ("$and", "$or"):
            parts = [self.make_condition(part, frozenset()) for part in condition]
            return _join(parts, name[1:].upper(), "true" if name == "$and" else "false")
        return self._test_field(name, condition)

    def _test_field(self, name: str, condition: Any) -> sql.Composable:
        number, last = self.fields.get(name, (-1, 0))
        values = self._read_values(number, last)
        accepted = mask_column(condition, values.column)
        codes = np.array(values.codes)
        if accepted.all() or not accepted.any():
            return sql.SQL("true" if accepted.all() else "false")
        few, test = codes[accepted], "= ANY"
        if len(few) > len(codes) / 2:
            few, test = codes[~accepted], "<> ALL"
        return sql.SQL("coalesce(codes[{}], 0) {} ({}::int[])").format(
            sql.Literal(number + 1), sql.SQL(test), sql.Literal(few.tolist())
        )

    def _read_values(self, number: int, last: int) -> FieldValues:
        values = self.kept.get(number, FieldValues())
        if values.last < last:
            rows = self.connection.execute(
                "SELECT code, value FROM irdaemon.field_values"
                " WHERE space = %s AND field = %s AND code > %s ORDER BY code",
                (self.space, number, values.last),
                binary=True,
            ).fetchall()
            values = values.add_rows(rows) if rows else values
            self.kept[number] = values
        return values


def _join(parts: list[sql.Composable], word: str, nothing: str) -> sql.Composable:
    if not parts:
        return sql.SQL(nothing)
    return sql.SQL("({})").format(sql.SQL(f" {word} ").join(parts))


# The settings of a reading transaction: its time limit, and the corpora that it may see.

# The server times out a little after the client, whose error is better.
_LATER_MS = 200
_MOST_MS = 60_000

EVERY_CORPUS = "*"


# A column of a corpus' row.
OF_CORPUS = "(SELECT {} FROM irdaemon.corpora WHERE corpus = %(corpus)s)"


def begin_reading(connection: Connection) -> None:
    """Begin a transaction that reads one state of the server, in the scope of this request."""
    corpora, left_s = get_scope(), getattr(connection, "until", 0.0) - time.monotonic()
    left_ms = int(min(max(left_s, 0) * 1000 + _LATER_MS, _MOST_MS))
    # No corpus has an empty name: an empty scope contains nothing.
    scope = EVERY_CORPUS if corpora is None else ",".join(sorted(corpora))
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    connection.execute(
        "SELECT set_config('irdaemon.corpora', %s, true),"
        " set_config('statement_timeout', %s, true), set_config('jit', 'off', true)",
        (scope, str(left_ms)),
    )


@contextlib.contextmanager
def read_state(connection: Connection) -> Iterator[None]:
    """Run the block in one transaction that sees one state of the server."""
    with connection.pipeline():
        begin_reading(connection)
    yield
    connection.execute("COMMIT")


def select_rows(
    connection: Connection, corpus: str, statement: str, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the rows that a statement selects. Raises NotFound for an unknown corpus."""
    named = {"corpus": corpus, **(values or {})}
    with read_state(connection):
        there = connection.execute(f"SELECT {OF_CORPUS.format('space')}", named).fetchone()
        rows = connection.execute(statement, named, binary=True).fetchall()
    if there is None or there[0] is None:
        raise _make_not_found(corpus)
    return rows


def _make_not_found(corpus: str) -> NotFound:
    return NotFound(f"there is no corpus {corpus!r}")


class SpaceGone(Exception):
    """The space was removed while it was being read: the corpus is in another one now."""


@dataclass(frozen=True, slots=True)
class CorpusView:
    """A corpus as a transaction sees it."""

    connection: Connection
    space: int
    vector_schema: str
    totals: Totals
    fields: Mapping[str, tuple[int, int]]
    words: Mapping[str, int]
    df: Mapping[int, int]


def open_view(connection: Connection, corpus: str, words: Sequence[str]) -> CorpusView:
    """Begin a transaction that sees one state of a corpus; return that state."""
    values = {"corpus": corpus, "words": [encode_text(word) for word in words]}
    with connection.pipeline():
        begin_reading(connection)
        row = connection.execute(
            "SELECT space, totals, (SELECT vectors FROM irdaemon.format) FROM irdaemon.corpora"
            " WHERE corpus = %(corpus)s",
            values,
            binary=True,
        )
        fields = connection.execute(
            "SELECT field, name, last FROM irdaemon.fields"
            f" WHERE space = {OF_CORPUS.format('space')}",
            values,
            binary=True,
        )
        known = connection.execute(
            "SELECT w.word, w.term, f.df FROM irdaemon.words AS w"
            f" LEFT JOIN irdaemon.frequencies AS f ON f.space = {OF_CORPUS.format('space')}"
            "  AND f.term = w.term"
            f" WHERE w.ledger = {OF_CORPUS.format('ledger')}"
            " AND w.word = ANY (%(words)s::bytea[])",
            values,
            binary=True,
        )
    found = row.fetchone()
    if found is None:
        connection.execute("ROLLBACK")
        raise _make_not_found(corpus)
    counted = [(decode_text(word), term, df or 0) for word, term, df in known.fetchall()]
    return CorpusView(
        connection,
        found[0],
        found[2],
        load_totals(unpack_bytes(found[1])),
        {decode_text(name): (number, last) for number, name, last in fields.fetchall()},
        {word: term for word, term, _ in counted},
        {term: df for _, term, df in counted},
    )
