"""Filters: a condition on fields becomes a mask over records, applied before any top-k.

A filter is a mapping of field to condition. A condition is a bare value (equality) or a mapping of
operators: $eq $ne $gt $gte $lt $lte $in $nin $exists. $and and $or take lists of filters, $not one.
A list-valued field meets a condition when one of its items does. A missing field meets only $ne,
$nin and $exists: false. Values of types that do not compare never match. ISO dates compare as text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.index import Columns, CorpusIndex
from irdaemon.index.columns import MISSING
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.asset_types import FIELD

Accepts = Callable[[Any], bool]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *_ORDER, "$in", "$nin", "$exists")
_SCALARS = (str, int, float, bool, type(None))
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


def fields_in(where: Mapping[str, Any]) -> Iterator[str]:
    """Yield the field names that a valid filter mentions."""
    for name, condition in where.items():
        if name in ("$and", "$or"):
            for part in condition:
                yield from fields_in(part)
        elif name == "$not":
            yield from fields_in(condition)
        else:
            yield str(name)


def mask_of(where: Mapping[str, Any], columns: Columns) -> NDArray[np.bool_]:
    """Return which records of `columns` meet a valid filter."""
    mask = np.ones(len(columns.rows.present), np.bool_)
    for name, condition in where.items():
        mask &= _part_mask(name, condition, columns)
    return mask


def check_fields(where: Mapping[str, Any], known: set[str]) -> None:
    """Raise QueryError for a field that no asked corpus has, naming the nearest.

    Corpora that have no field but the asset type, which all have, are not checked.
    """
    for name in fields_in(where):
        if known - {FIELD} and name not in known:
            raise QueryError(
                f"unknown field {name!r} in the filter{did_you_mean(name, known)}",
                f"fields here: {', '.join(sorted(known))}",
            )


def check_dates(where: Mapping[str, Any], indexes: Sequence[CorpusIndex]) -> None:
    """Raise QueryError for a field of dates that is compared with what is none."""
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
            yield from ((str(name), condition[sign]) for sign in _ORDER if sign in condition)


def _part_mask(name: str, condition: Any, columns: Columns) -> NDArray[np.bool_]:
    if name == "$not":
        return ~mask_of(condition, columns)
    if name == "$and":
        return _fold(np.logical_and, True, condition, columns)
    if name == "$or":
        return _fold(np.logical_or, False, condition, columns)
    column = columns.column(name)
    wanted = _wanted(condition)
    if wanted is not None:
        return column.holding(wanted, _predicate(condition))
    return column.mask(_predicate(condition))


def _wanted(condition: Any) -> Sequence[Any] | None:
    """Return the scalars that a condition asks to be equal to; None for any other condition."""
    if not isinstance(condition, Mapping):
        condition = {"$eq": condition}
    if len(condition) != 1 or not condition.keys() <= {"$eq", "$in"}:
        return None
    operands = condition["$in"] if "$in" in condition else [condition["$eq"]]
    # What does not equal itself (not a number) equals nothing else either.
    return operands if all(isinstance(o, _SCALARS) and o == o for o in operands) else None


def _fold(join: np.ufunc, start: bool, parts: Any, columns: Columns) -> NDArray[np.bool_]:
    mask = np.full(len(columns.rows.present), start, np.bool_)
    for part in parts:
        mask = join(mask, mask_of(part, columns))
    return mask


def _predicate(condition: Any) -> Accepts:
    if not isinstance(condition, Mapping):
        return _operation("$eq", condition)
    tests = [_operation(str(name), operand) for name, operand in condition.items()]
    return lambda value: all(test(value) for test in tests)


def _operation(name: str, operand: Any) -> Accepts:
    if name == "$exists":
        return lambda value: (value is not MISSING) == bool(operand)
    if name == "$ne":
        return lambda value: not _any_item(value, lambda item: _equal(item, operand))
    if name == "$in":
        return lambda value: _any_item(value, lambda item: any(_equal(item, o) for o in operand))
    if name == "$nin":
        return lambda value: (
            not _any_item(value, lambda item: any(_equal(item, o) for o in operand))
        )
    if name == "$eq":
        return lambda value: _any_item(value, lambda item: _equal(item, operand))
    compare = _ORDER[name]
    return lambda value: _any_item(value, lambda item: _ordered(compare, item, operand))


def _any_item(value: Any, test: Accepts) -> bool:
    if value is MISSING:
        return False
    if isinstance(value, list):
        return test(value) or any(test(item) for item in value)
    return test(value)


def _equal(item: Any, operand: Any) -> bool:
    return isinstance(item, bool) == isinstance(operand, bool) and bool(item == operand)


def _ordered(compare: Callable[[Any, Any], bool], item: Any, operand: Any) -> bool:
    try:
        return item is not None and compare(item, operand)
    except TypeError:
        return False


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
