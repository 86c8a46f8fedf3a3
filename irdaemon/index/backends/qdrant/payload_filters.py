"""Filters as Qdrant's conditions, with the meaning of `retrieve.where`.

Equality is asked of codes that records carry for the values of their fields and for the items of
lists. Any other condition is tried on the distinct values there are of the field, and becomes the
codes of those that meet it; so what meets a filter is the same as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from qdrant_client import models

from irdaemon.index.backends.qdrant.corpus_state import among, equal
from irdaemon.index.backends.qdrant.points import item_code, value_code
from irdaemon.index.columns import MISSING, Column
from irdaemon.index.conditions import column_mask

# Give the distinct values of a field.
ValuesOf = Callable[[str], Sequence[Any]]

_SCALARS = (str, int, float, bool, type(None))


def conditions(where: Mapping[str, Any], surfaces: frozenset[str], values_of: ValuesOf) -> Any:
    """Return the filter that a valid filter and kinds of surfaces are, None for none."""
    parts = [_part(name, condition, values_of) for name, condition in where.items()]
    if surfaces:
        parts.append(among("kind", sorted(surfaces)))
    return models.Filter(must=parts) if parts else None


def _part(name: str, condition: Any, values_of: ValuesOf) -> Any:
    if name == "$not":
        inner = conditions(condition, frozenset(), values_of)
        return models.Filter(must_not=[inner]) if inner else _nothing()
    if name in ("$and", "$or"):
        given = [conditions(each, frozenset(), values_of) for each in condition]
        parts = [each or models.Filter(must=[]) for each in given]
        if name == "$and":
            return models.Filter(must=parts)
        return models.Filter(should=parts) if parts else _nothing()
    if not isinstance(condition, Mapping):
        condition = {"$eq": condition}
    tests = [_test(name, sign, operand, values_of) for sign, operand in condition.items()]
    return models.Filter(must=tests)


def _test(name: str, sign: str, operand: Any, values_of: ValuesOf) -> Any:
    if sign == "$exists":
        there = equal("fields", name)
        return there if operand else models.Filter(must_not=[there])
    if sign in ("$ne", "$nin"):
        opposite = {"$ne": "$eq", "$nin": "$in"}[sign]
        return models.Filter(must_not=[_test(name, opposite, operand, values_of)])
    if sign in ("$eq", "$in"):
        operands = [operand] if sign == "$eq" else list(operand)
        if all(isinstance(each, _SCALARS) for each in operands):
            return _holding(name, operands)
    return _among(name, {sign: operand}, values_of(name))


def _holding(name: str, operands: Sequence[Any]) -> Any:
    """Return the condition of fields that equal a scalar, or have an item that does."""
    same = [each for each in operands if each == each]  # not a number equals nothing
    codes = [code(name, each) for each in same for code in (value_code, item_code)]
    return among("codes", codes) if codes else _nothing()


def _among(name: str, condition: Mapping[str, Any], values: Sequence[Any]) -> Any:
    """Return the condition of fields with one of the values that meet a condition."""
    column = Column(np.arange(len(values) + 1, dtype=np.int32), [MISSING])
    for value in values:
        column.code(value)
    mask = column_mask(condition, column)
    codes = [value_code(name, column.values[at]) for at in np.flatnonzero(mask).tolist() if at]
    return among("codes", codes) if codes else _nothing()


def _nothing() -> Any:
    """Return the condition that nothing meets."""
    return models.HasIdCondition(has_id=[])
