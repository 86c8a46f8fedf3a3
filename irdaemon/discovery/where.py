"""Filters: a condition on fields becomes a mask over records, applied before any top-k.

A filter is a mapping of field to condition. A condition is a bare value (equality) or a mapping of
operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $path $hash. $and and $or take lists of
filters, $not one. A list-valued field meets a condition if one of its items does. A missing field
meets only $ne, $nin and $exists: false. Values of types that do not compare never match. ISO dates
compare as text. For the actions of sessions, the end of a path ($path) and the beginning of a hash
($hash) count as equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.index import Columns, CorpusIndex
from irdaemon.index.columns import NEGATED, ORDER, PARTS, mask_column
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.source.asset_types import FIELD

OPERATORS = ("$eq", "$ne", *ORDER, "$in", "$nin", "$exists", *PARTS)
JUNCTIONS = ("$and", "$or", "$not")
# Fields of sessions of which a part counts as equal: the end of a path, the beginning of a hash.
# Other corpora may have fields of these names that mean something else.
_OF_SESSIONS = "session_id"
_BY_PART = {"file": "$path", "file_written": "$path", "commit": "$hash"}
# A year, a month, a day or a moment of one, in ISO 8601.
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d.*)?)?)?\Z")

Mask = Callable[[Columns], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A checked filter: `where` in the form that is compared, and all its (field, condition) pairs.

    A record meets it if it meets all of `masks`.
    """

    where: Mapping[str, Any] = field(default_factory=dict)
    conditions: tuple[tuple[str, Any], ...] = ()
    masks: tuple[Mask, ...] = ()

    def names(self, wanted: str) -> bool:
        """Return whether a condition is on this field."""
        return any(name == wanted for name, _ in self.conditions)

    def make_mask(self, columns: Columns) -> NDArray[np.bool_]:
        """Return which records of `columns` meet the filter."""
        mask = np.ones(len(columns.rows.present), np.bool_)
        for part in self.masks:
            mask &= part(columns)
        return mask


NO_FILTER = Filter()


def parse_filter(where: Mapping[str, Any]) -> Filter:
    """Check and compile a filter. Raises QueryError naming the wrong operator or value."""
    conditions: list[tuple[str, Any]] = []
    compared = _check_filter(where, conditions)
    masks = tuple(_make_mask(name, condition) for name, condition in compared.items())
    return Filter(compared, tuple(conditions), masks)


def _check_filter(where: Any, conditions: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a filter in the form that is compared; its conditions are added to the list."""
    if not isinstance(where, Mapping):
        raise QueryError(f"a filter is a mapping of field to condition, not {where!r}")
    compared, by_part = dict[str, Any](), list[Mapping[str, Any]]()
    for name, condition in where.items():
        if name == "$not":
            compared[name] = _check_filter(condition, conditions)
        elif name in JUNCTIONS:
            if not isinstance(condition, (list, tuple)):
                raise QueryError(f"{name} takes a list of filters, not {condition!r}")
            compared[name] = [_check_filter(each, conditions) for each in condition]
        elif str(name).startswith("$"):
            raise _refuse_operator(str(name), JUNCTIONS)
        else:
            _check_condition(str(name), condition)
            conditions.append((str(name), condition))
            if name in _BY_PART:
                by_part += _compare_parts(str(name), condition)
            else:
                compared[str(name)] = condition
    if by_part:
        compared["$and"] = [*compared.get("$and", ()), *by_part]
    return compared


def _compare_parts(field: str, condition: Any) -> Iterator[Mapping[str, Any]]:
    """Yield filters that together also accept a part of a value as equal."""
    operators = condition if isinstance(condition, Mapping) else {"$eq": condition}
    for name, operand in operators.items():
        positive = NEGATED.get(name, name)
        if positive not in ("$eq", "$in"):
            yield {field: {name: operand}}
            continue
        part = {_OF_SESSIONS: {"$exists": True}, field: {_BY_PART[field]: operand}}
        equal = {"$or": [{field: {positive: operand}}, part]}
        yield equal if name == positive else {"$not": equal}


def _make_mask(name: str, condition: Any) -> Mask:
    """Return the mask of one item of a checked filter."""
    if name not in JUNCTIONS:
        return lambda columns: mask_column(condition, columns.get_column(name))
    wheres = [condition] if name == "$not" else condition
    parts = [Filter(masks=tuple(_make_mask(*item) for item in each.items())) for each in wheres]

    def join(columns: Columns) -> NDArray[np.bool_]:
        masks = [part.make_mask(columns) for part in parts]
        if name == "$not":
            return ~masks[0]
        mask = np.full(len(columns.rows.present), name == "$and")
        for each in masks:
            mask = mask & each if name == "$and" else mask | each
        return mask

    return join


def check_fields(filter: Filter, indexes: Sequence[CorpusIndex]) -> None:
    """Raise QueryError for an unknown field, or a field of dates compared with anything else.

    Corpora whose only field is the asset type, which all have, are not checked for unknown fields.
    """
    known = {name for index in indexes for name in index.list_field_names()}
    for name, _ in filter.conditions:
        if known - {FIELD} and name not in known:
            raise QueryError(
                f"unknown field {name!r} in the filter{did_you_mean(name, known)}",
                f"fields here: {', '.join(sorted(known))}",
            )
    for name, condition in filter.conditions:
        ordered = ORDER.keys() & condition.keys() if isinstance(condition, Mapping) else ()
        if not ordered:
            continue
        values = [value for each in indexes for value in each.sample_values(name)]
        if not (values and all(map(_is_date, values))):
            continue
        for sign in ORDER:
            if sign in ordered and not _is_date(condition[sign]):
                raise QueryError(
                    f"{name!r} has dates, and {condition[sign]!r} is not a date",
                    "write 2026-09-01, or 2026-09-01T12:30",
                )


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and bool(_DATE.match(value))


def _check_condition(field: str, condition: Any) -> None:
    if not isinstance(condition, Mapping):
        return
    if not condition:
        raise QueryError(f"the condition on {field!r} is empty")
    for name, operand in condition.items():
        if name not in OPERATORS:
            raise _refuse_operator(str(name), OPERATORS)
        if name in ("$in", "$nin") and not isinstance(operand, (list, tuple)):
            raise QueryError(f"{name} on {field!r} takes a list of values, not {operand!r}")


def _refuse_operator(name: str, valid: tuple[str, ...]) -> QueryError:
    return QueryError(
        f"unknown filter operator {name!r}{did_you_mean(name, valid)}",
        f"operators: {' '.join(OPERATORS + JUNCTIONS)}",
    )
