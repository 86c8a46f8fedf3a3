"""Filters as conditions of SQL: on the codes of values, by the predicates of any other filter.

A condition on a field is tried on the field's distinct values here, which gives the codes that meet
it. The server compares codes only, so that what a filter means is written once. Values are kept
between queries; of what came since only that is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from psycopg import sql

from irdaemon.index.backends.postgres.coding import KIND
from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.postgres.packing import text_of, unpacked
from irdaemon.index.columns import Column
from irdaemon.index.conditions import column_mask


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The distinct values of a field: `codes[i]` is the code of the column's ith record.

    The first is that of a missing value, 0. `last` is the highest code that is known.
    """

    column: Column = field(default_factory=lambda: Column(np.zeros(1, np.int32)))
    codes: list[int] = field(default_factory=lambda: [0])
    last: int = 0

    def with_rows(self, rows: list[tuple[int, bytes]]) -> FieldValues:
        """Return a copy with more values, ascending by code."""
        # Other threads may be reading this one, or adding the same to it.
        old = self.column
        column = Column(old.codes, [*old.values], {**old.code_of}, [*old.compound])
        more = [column.code(unpacked(value)) for _, value in rows]
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

    def condition(self, where: Mapping[str, Any], kinds: frozenset[str]) -> sql.Composable:
        """Return the condition on `codes` of a valid filter, and of kinds that count."""
        parts = [self._part(name, condition) for name, condition in where.items()]
        if kinds:
            parts.append(self._field(KIND, {"$in": sorted(kinds)}))
        return _joined(parts, "AND", "true")

    def _part(self, name: str, condition: Any) -> sql.Composable:
        if name == "$not":
            return sql.SQL("NOT ({})").format(self.condition(condition, frozenset()))
        if name in ("$and", "$or"):
            parts = [self.condition(part, frozenset()) for part in condition]
            return _joined(parts, name[1:].upper(), "true" if name == "$and" else "false")
        return self._field(name, condition)

    def _field(self, name: str, condition: Any) -> sql.Composable:
        number, last = self.fields.get(name, (-1, 0))
        values = self._values(number, last)
        accepted = column_mask(condition, values.column)
        codes = np.array(values.codes)
        if accepted.all() or not accepted.any():
            return sql.SQL("true" if accepted.all() else "false")
        few, test = codes[accepted], "= ANY"
        if len(few) > len(codes) / 2:
            few, test = codes[~accepted], "<> ALL"
        return sql.SQL("coalesce(codes[{}], 0) {} ({}::int[])").format(
            sql.Literal(number + 1), sql.SQL(test), sql.Literal(few.tolist())
        )

    def _values(self, number: int, last: int) -> FieldValues:
        values = self.kept.get(number, FieldValues())
        if values.last < last:
            rows = self.connection.execute(
                "SELECT code, value FROM irdaemon.field_values"
                " WHERE space = %s AND field = %s AND code > %s ORDER BY code",
                (self.space, number, values.last),
                binary=True,
            ).fetchall()
            values = values.with_rows(rows) if rows else values
            self.kept[number] = values
        return values


def read_fields(
    rows: list[tuple[int, bytes, int]],
) -> dict[str, tuple[int, int]]:
    """Return the number and last code of fields by name, as `SpaceFields` has them."""
    return {text_of(name): (number, last) for number, name, last in rows}


def _joined(parts: list[sql.Composable], word: str, nothing: str) -> sql.Composable:
    if not parts:
        return sql.SQL(nothing)
    return sql.SQL("({})").format(sql.SQL(f" {word} ").join(parts))
