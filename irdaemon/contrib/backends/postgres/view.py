"""One state of a corpus, as a transaction sees it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from psycopg import sql

from irclient.errors import NotFound
from irdaemon.contrib.backends.postgres.coding import KIND
from irdaemon.contrib.backends.postgres.connections import Connection
from irdaemon.contrib.backends.postgres.packing import decode_text, encode_text
from irdaemon.contrib.backends.state import get_scope, load_totals, unpack_bytes
from irdaemon.index.backend import Totals
from irdaemon.index.columns import Column, mask_column

# Filters as conditions of SQL: on the codes of values, by the predicates of any other filter.
#
# A condition on a field is tried on the field's distinct values here, which gives the codes that
# meet it. The server compares codes only, so that what a filter means is written once. Values are
# kept between queries; of what came since only that is read.


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The distinct values of a field: `codes[i]` is the code of the column's ith record.

    The first is that of a missing value, 0. `last` is the highest code that is known.
    """

    column: Column = field(default_factory=lambda: Column(np.zeros(1, np.int32)))
    codes: list[int] = field(default_factory=lambda: [0])
    last: int = 0

    def add_rows(self, rows: list[tuple[int, bytes]]) -> FieldValues:
        """Return a copy with more values, ascending by code."""
        # Other threads may be reading this one, or adding the same to it.
        old = self.column
        column = Column(old.codes, [*old.values], {**old.code_of}, [*old.compound])
        more = [column.code(unpack_bytes(value)) for _, value in rows]
        grown = replace(column, codes=np.concatenate([old.codes, np.array(more, np.int32)]))
        codes = [*self.codes, *(code for code, _ in rows)]
        return FieldValues(grown, codes, codes[-1])


# The values of fields, by number, of the space of a corpus.
KeptValues = dict[str, tuple[int, dict[int, FieldValues]]]


@dataclass(frozen=True, slots=True)
class SpaceFields:
    """The fields of one space as a transaction sees them: number and last code, by name."""

    connection: Connection
    space: int
    fields: Mapping[str, tuple[int, int]]
    kept: dict[int, FieldValues]

    def make_condition(self, where: Mapping[str, Any], kinds: frozenset[str]) -> sql.Composable:
        """Return the condition on `codes` of a valid filter, and of kinds that count."""
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


# The settings of a reading transaction: how long it may take, and whose corpora it may see.

# The server gives up a little after the client, which says it better.
_LATER_MS = 200
_MOST_MS = 60_000

EVERY_CORPUS = "*"


# A column of the row of a corpus.
OF_CORPUS = "(SELECT {} FROM irdaemon.corpora WHERE corpus = %(corpus)s)"


def begin_reading(connection: Connection) -> None:
    """Begin a transaction that reads one state of the server, in the scope of this request."""
    corpora, left_s = get_scope(), getattr(connection, "until", 0.0) - time.monotonic()
    left_ms = int(min(max(left_s, 0) * 1000 + _LATER_MS, _MOST_MS))
    # No corpus has an empty name: an empty scope is one that nothing is in.
    scope = EVERY_CORPUS if corpora is None else ",".join(sorted(corpora))
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    connection.execute(
        "SELECT set_config('irdaemon.corpora', %s, true),"
        " set_config('statement_timeout', %s, true), set_config('jit', 'off', true)",
        (scope, str(left_ms)),
    )


@contextlib.contextmanager
def read_state(connection: Connection) -> Iterator[None]:
    """Do the work inside in one transaction that sees one state of the server."""
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
    """The space was removed while it was read: the corpus lies in another by now."""


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
    """Begin a transaction that sees one state of a corpus; return what is known of it."""
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


def end_view(view: CorpusView) -> Any:
    """End the transaction behind what is under way; return what `check_space` looks at."""
    there = view.connection.execute("SELECT to_regclass(%s)", (f"irdaemon.slots_{view.space}",))
    view.connection.execute("COMMIT")
    return there


def check_space(there: Any) -> None:
    """Raise SpaceGone where the space that was read is not there."""
    if there.fetchone()[0] is None:
        raise SpaceGone
