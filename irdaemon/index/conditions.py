"""What a filter's condition on one field means: which values meet it.

A condition is a bare value (equality) or a mapping of operators: $eq $ne $gt $gte $lt $lte $in $nin
$exists. A list-valued field meets a condition when one of its items does. A missing field meets
only $ne, $nin and $exists: false. Values of types that do not compare never match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.columns import MISSING, Column

Accepts = Callable[[Any], bool]

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_SCALARS = (str, int, float, bool, type(None))


def column_mask(condition: Any, column: Column) -> NDArray[np.bool_]:
    """Return for each code of a column whether its value meets a valid condition."""
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
    compare = ORDER[name]
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
