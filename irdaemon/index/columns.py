"""Filter columns: for one field, its distinct values and each record's value among them.

A predicate is evaluated once per distinct value, for any number of records. The columns are
built together when a filter first names a field; from then on each generation adds what is new.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows
from irdaemon.source.asset_types import FIELD


class Missing:
    """The value of a field that a record does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one field: `values[codes[i]]` is that of record i.

    `values`, `code_of` and `compound` (the codes of lists and mappings) are shared between
    generations, and grow; value 0 is MISSING.
    """

    codes: NDArray[np.int32]
    values: list[Any] = field(default_factory=lambda: [MISSING])
    code_of: dict[Any, int] = field(default_factory=dict)
    compound: list[int] = field(default_factory=list)

    def match_scalars(
        self, wanted: Iterable[Any], accepts: Callable[[Any], bool]
    ) -> NDArray[np.bool_]:
        """Return which records hold one of the scalars `wanted`, or a list that `accepts` takes.

        As `mask(accepts)` where that takes just those, but without asking it of every value.
        """
        keys = ((type(each).__name__, each) for scalar in wanted for each in _list_equals(scalar))
        codes = [self.code_of[key] for key in keys if key in self.code_of]
        codes += [code for code in tuple(self.compound) if accepts(self.values[code])]
        mask: NDArray[np.bool_] = np.isin(self.codes, codes)
        return mask

    def mask(self, accepts: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Return which records hold a value that `accepts` takes."""
        verdicts = np.array([accepts(value) for value in tuple(self.values)], np.bool_)
        mask: NDArray[np.bool_] = verdicts[self.codes]
        return mask

    def encode_value(self, value: Any) -> int:
        """Return the code of a value, adding one for a new value."""
        key = (type(value).__name__, repr(value) if isinstance(value, (list, dict)) else value)
        if (code := self.code_of.get(key)) is None:
            self.values.append(value)
            code = self.code_of[key] = len(self.values) - 1
            if isinstance(value, (list, dict)):
                self.compound.append(code)
        return code


def _list_equals(scalar: Any) -> tuple[Any, ...]:
    """Return the scalars of other types that equal this one: 1 equals 1.0, but not true."""
    if isinstance(scalar, float) and scalar.is_integer():
        return scalar, int(scalar)
    if isinstance(scalar, int) and not isinstance(scalar, bool):
        near = float(scalar) if scalar.bit_length() < 1024 else scalar
        return scalar, near if near == scalar else scalar
    return (scalar,)


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of a corpus: those of its artifacts, and those of their surfaces.

    `base` are the columns of the first rows, where those are another corpus'.
    """

    rows: Rows
    _built: dict[str, Column] = field(default_factory=dict)
    base: Columns | None = None

    @classmethod
    def build(cls, rows: Rows, previous: Columns | None = None) -> Columns:
        """Return the columns of `rows`, adding what is new to the previous ones."""
        if previous is None or previous.rows.epoch != rows.epoch or not previous._built:
            return cls(rows)
        return cls(rows, _add_records(previous._built, rows, len(previous.rows.present)))

    def list_names(self) -> set[str]:
        """Return every field name some record has."""
        return set(self._build_columns())

    def get_column(self, name: str) -> Column:
        """Return the column of a field; records without it hold MISSING."""
        found = self._build_columns().get(name)
        return found or Column(np.zeros(len(self.rows.present), np.int32))

    def match_kinds(self, wanted: frozenset[str]) -> NDArray[np.bool_]:
        """Return which records are surfaces of one of these kinds."""
        codes = [at for at, kind in enumerate(tuple(self.rows.kind_names)) if kind in wanted]
        return np.isin(self.rows.kinds.array, codes)

    def count_asset_types(self) -> dict[str, int]:
        """Count the artifacts that have records, by asset type."""
        rows, column = self.rows, self.get_column(FIELD)
        positions = np.flatnonzero(rows.present)
        _, firsts = np.unique(rows.artifact_of.array[positions], return_index=True)
        codes, counts = np.unique(column.codes[positions[firsts]], return_counts=True)
        by_type = zip(codes.tolist(), counts.tolist(), strict=True)
        return {column.values[code]: count for code, count in by_type}

    def _build_columns(self) -> Mapping[str, Column]:
        if not self._built:
            base = self.base
            held = (
                {name: _copy(each) for name, each in base._build_columns().items()} if base else {}
            )
            # All at once: a query on another thread sees all or nothing.
            self._built.update(_add_records(held, self.rows, len(base.rows.present) if base else 0))
        return self._built


def _add_records(columns: Mapping[str, Column], rows: Rows, start: int) -> dict[str, Column]:
    """Return the columns with the records from `start` on."""
    end = len(rows.present)
    grown = {name: _lengthen(column, end) for name, column in columns.items()}
    owner, of_artifact = -1, dict[str, Any]()
    # An image may have blanked the records of deleted artifacts.
    for position in (start + np.flatnonzero(rows.present[start:end])).tolist():
        if owner != (owner := int(rows.artifact_of.array[position])):
            of_artifact = rows.cards[owner].fields
        for name, value in {**of_artifact, **_unpack(rows.shown[position].packed)}.items():
            if name not in grown:
                grown[name] = Column(np.zeros(end, np.int32))
            grown[name].codes[position] = grown[name].encode_value(value)
    return grown


def _lengthen(column: Column, end: int) -> Column:
    codes = np.zeros(end, np.int32)
    codes[: len(column.codes)] = column.codes
    return Column(codes, column.values, column.code_of, column.compound)


def _copy(column: Column) -> Column:
    """Return a copy of a column that grows independently.

    The writer may add some at any time: a value comes before its code, so it is copied after it.
    """
    compound, code_of = list(column.compound), dict(column.code_of)
    return Column(column.codes, list(column.values), code_of, compound)


@lru_cache(maxsize=4096)
def _unpack(packed: bytes) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = msgpack.unpackb(packed)
    return fields


# What a filter's condition on one field means: which values meet it.
#
# A condition is a bare value (equality) or a mapping of operators: $eq $ne $gt $gte $lt $lte $in
# $nin $exists $path (the end of a path, in whole components) $hash (its first characters). A
# list-valued field meets a condition when one of its items does. A missing field meets only $ne,
# $nin and $exists: false. Values of types that do not compare never match.

Accepts = Callable[[Any], bool]

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
NEGATED = {"$ne": "$eq", "$nin": "$in"}
# The shortest part of a hash that names one.
_LEAST_HASH = 4


def _is_path(item: Any, operand: Any) -> bool:
    """Return whether a path equals another or ends with its components."""
    wanted = str(operand).replace("\\", "/").removeprefix("./").rstrip("/")
    return isinstance(item, str) and bool(wanted) and f"/{item}".endswith(f"/{wanted}")


def _is_hash(item: Any, operand: Any) -> bool:
    """Return whether two hashes agree over the length of the shorter one."""
    if not isinstance(item, str) or len(wanted := str(operand).lower()) < _LEAST_HASH:
        return False
    return item.startswith(wanted) or wanted.startswith(item)


# Those that take one value or a list of some.
PARTS: dict[str, Callable[[Any, Any], bool]] = {"$path": _is_path, "$hash": _is_hash}
_SCALARS = (str, int, float, bool, type(None))


def mask_column(condition: Any, column: Column) -> NDArray[np.bool_]:
    """Return for each code of a column whether its value meets a valid condition."""
    wanted = _list_wanted(condition)
    if wanted is not None:
        return column.match_scalars(wanted, _make_predicate(condition))
    return column.mask(_make_predicate(condition))


def _list_wanted(condition: Any) -> Sequence[Any] | None:
    """Return the scalars that a condition compares for equality; None for other conditions."""
    if not isinstance(condition, Mapping):
        condition = {"$eq": condition}
    if len(condition) != 1 or not condition.keys() <= {"$eq", "$in"}:
        return None
    operands = condition["$in"] if "$in" in condition else [condition["$eq"]]
    # NaN equals nothing, not even itself.
    return operands if all(isinstance(o, _SCALARS) and o == o for o in operands) else None


def _make_predicate(condition: Any) -> Accepts:
    if not isinstance(condition, Mapping):
        return _make_operation("$eq", condition)
    tests = [_make_operation(str(name), operand) for name, operand in condition.items()]
    return lambda value: all(test(value) for test in tests)


def _make_operation(name: str, operand: Any) -> Accepts:
    if name == "$exists":
        return lambda value: (value is not MISSING) == bool(operand)
    if name in NEGATED:
        accepts = _make_operation(NEGATED[name], operand)
        return lambda value: not accepts(value)

    def test(item: Any) -> bool:
        if name == "$eq":
            return _is_equal(item, operand)
        if name in PARTS:
            wanted = operand if isinstance(operand, (list, tuple)) else [operand]
            return any(PARTS[name](item, each) for each in wanted)
        if name == "$in":
            return any(_is_equal(item, each) for each in operand)
        return _is_ordered(ORDER[name], item, operand)

    return lambda value: _test_items(value, test)


def _test_items(value: Any, test: Accepts) -> bool:
    if value is MISSING:
        return False
    if isinstance(value, list):
        return test(value) or any(test(item) for item in value)
    return test(value)


def _is_equal(item: Any, operand: Any) -> bool:
    return isinstance(item, bool) == isinstance(operand, bool) and bool(item == operand)


def _is_ordered(compare: Callable[[Any, Any], bool], item: Any, operand: Any) -> bool:
    try:
        return item is not None and compare(item, operand)
    except TypeError:
        return False
