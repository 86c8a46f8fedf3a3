"""Filter columns: for one field, its distinct values and each record's value among them.

A predicate is evaluated once per distinct value, whatever the number of records. Columns are built
when a filter first names them and kept for the life of the index they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows


class Missing:
    """The value of a field that a record does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one field: `values[codes[i]]` is that of record i."""

    codes: NDArray[np.int32]
    values: tuple[Any, ...]

    def mask(self, accepts: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Return which records hold a value that `accepts` says yes to."""
        verdicts = np.array([accepts(value) for value in self.values], np.bool_)
        mask: NDArray[np.bool_] = verdicts[self.codes]
        return mask


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of a corpus: those of its artifacts, and those of their surfaces."""

    rows: Rows
    _fields: list[Mapping[str, Any]] = field(default_factory=list)
    _built: dict[str, Column] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Return every field name some record has."""
        return {name for fields in self._per_record() for name in fields}

    def column(self, name: str) -> Column:
        """Return the column of a field; records without it hold MISSING."""
        if name not in self._built:
            self._built[name] = _encode([f.get(name, MISSING) for f in self._per_record()])
        return self._built[name]

    def kinds(self, wanted: frozenset[str]) -> NDArray[np.bool_]:
        """Return which records are surfaces of a wanted kind."""
        return np.array([shown.kind in wanted for shown in self.rows.shown], np.bool_)

    def _per_record(self) -> list[Mapping[str, Any]]:
        if len(self._fields) != len(self.rows.shown):
            of_artifact = [card.fields for card in self.rows.cards]
            own = [_unpack(shown.packed) for shown in self.rows.shown]
            # One assignment of the whole list: a query on another thread sees all or nothing.
            self._fields[:] = [
                {**of_artifact[owner], **mine} if mine else of_artifact[owner]
                for owner, mine in zip(self.rows.artifact_of, own, strict=True)
            ]
        return self._fields


@lru_cache(maxsize=4096)
def _unpack(packed: bytes) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = msgpack.unpackb(packed)
    return fields


def _encode(values: list[Any]) -> Column:
    code_of: dict[Any, int] = {}
    distinct: list[Any] = []
    codes = np.empty(len(values), np.int32)
    for position, value in enumerate(values):
        key = (type(value).__name__, repr(value) if isinstance(value, (list, dict)) else value)
        if (code := code_of.get(key)) is None:
            code = code_of[key] = len(distinct)
            distinct.append(value)
        codes[position] = code
    return Column(codes, tuple(distinct))
