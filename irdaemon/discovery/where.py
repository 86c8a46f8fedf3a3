"""Filters: a condition on fields becomes a mask over records, applied before any top-k.

A filter is a mapping of field to condition. A condition is a bare value (equality) or a mapping of
operators: $eq $ne $gt $gte $lt $lte $in $nin $exists. $and and $or take lists of filters, $not one.
A list-valued field meets a condition when one of its items does. A missing field meets only $ne,
$nin and $exists: false. Values of types that do not compare never match. ISO dates compare as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.index import Columns, CorpusIndex
from irdaemon.index.columns import ORDER, mask_column
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.asset_types import FIELD

OPERATORS = ("$eq", "$ne", *ORDER, "$in", "$nin", "$exists")
# A year, a month, a day or a moment of one, as ISO 8601 writes them.
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d.*)?)?)?\Z")
JUNCTIONS = ("$and", "$or", "$not")


def check_filter(where: Mapping[str, Any]) -> None:
    """Raise QueryError for a filter of a wrong form, naming the wrong operator or value."""
    if not isinstance(where, Mapping):
        raise QueryError(f"a filter is a mapping of field to condition, not {where!r}")
    for name, condition in where.items():
        if name in ("$and", "$or"):
            if not isinstance(condition, (list, tuple)):
                raise QueryError(f"{name} takes a list of filters, not {condition!r}")
            for part in condition:
                check_filter(part)
        elif name == "$not":
            check_filter(condition)
        elif str(name).startswith("$"):
            raise _unknown_operator(str(name), JUNCTIONS)
        else:
            _check_condition(str(name), condition)


def list_fields(where: Mapping[str, Any]) -> Iterator[str]:
    """Yield the field names that a valid filter mentions."""
    for name, condition in where.items():
        if name in ("$and", "$or"):
            for part in condition:
                yield from list_fields(part)
        elif name == "$not":
            yield from list_fields(condition)
        else:
            yield str(name)


def make_mask(where: Mapping[str, Any], columns: Columns) -> NDArray[np.bool_]:
    """Return which records of `columns` meet a valid filter."""
    mask = np.ones(len(columns.rows.present), np.bool_)
    for name, condition in where.items():
        mask &= _part_mask(name, condition, columns)
    return mask


def check_fields(where: Mapping[str, Any], known: set[str]) -> None:
    """Raise QueryError for a field that no asked corpus has, naming the nearest.

    Corpora that have no field but the asset type, which all have, are not checked.
    """
    for name in list_fields(where):
        if known - {FIELD} and name not in known:
            raise QueryError(
                f"unknown field {name!r} in the filter{did_you_mean(name, known)}",
                f"fields here: {', '.join(sorted(known))}",
            )


def check_dates(where: Mapping[str, Any], indexes: Sequence[CorpusIndex]) -> None:
    """Raise QueryError for a field of dates that is compared with something else."""
    for name, operand in _compared(where):
        values = [value for each in indexes for value in each.samples(name)]
        dates = values and all(isinstance(v, str) and _DATE.match(v) for v in values)
        if dates and not (isinstance(operand, str) and _DATE.match(operand)):
            raise QueryError(
                f"{name!r} holds dates, and {operand!r} is none",
                "write 2026-09-01, or 2026-09-01T12:30",
            )


def _compared(where: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that a valid filter compares by order, each with the value it names."""
    for name, condition in where.items():
        if name in ("$and", "$or"):
            for part in condition:
                yield from _compared(part)
        elif name == "$not":
            yield from _compared(condition)
        elif isinstance(condition, Mapping):
            yield from ((str(name), condition[sign]) for sign in ORDER if sign in condition)


def _part_mask(name: str, condition: Any, columns: Columns) -> NDArray[np.bool_]:
    if name == "$not":
        return ~make_mask(condition, columns)
    if name == "$and":
        return _fold(np.logical_and, True, condition, columns)
    if name == "$or":
        return _fold(np.logical_or, False, condition, columns)
    return mask_column(condition, columns.column(name))


def _fold(join: np.ufunc, start: bool, parts: Any, columns: Columns) -> NDArray[np.bool_]:
    mask = np.full(len(columns.rows.present), start, np.bool_)
    for part in parts:
        mask = join(mask, make_mask(part, columns))
    return mask


def _check_condition(field: str, condition: Any) -> None:
    if not isinstance(condition, Mapping):
        return
    if not condition:
        raise QueryError(f"the condition on {field!r} is empty")
    for name, operand in condition.items():
        if name not in OPERATORS:
            raise _unknown_operator(str(name), OPERATORS)
        if name in ("$in", "$nin") and not isinstance(operand, (list, tuple)):
            raise QueryError(f"{name} on {field!r} takes a list of values, not {operand!r}")


def _unknown_operator(name: str, valid: tuple[str, ...]) -> QueryError:
    return QueryError(
        f"unknown filter operator {name!r}{did_you_mean(name, valid)}",
        f"operators: {' '.join(OPERATORS + JUNCTIONS)}",
    )
