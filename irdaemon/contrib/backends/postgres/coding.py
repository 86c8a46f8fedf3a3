"""Codes of the values that filters compare: assigned when a value first occurs, never reused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from irdaemon.contrib.backends.postgres.packing import SpaceTables, decode_text, encode_text

# Find a value by its field and a digest of the value.
Key = tuple[int, bytes]

# The number of codes cached within one transaction; others are looked up again.
_REMEMBERED = 300_000
# The name of field 0, the kind of a surface.
KIND = ""


class Coder:
    """Assign codes to the values of one space, and count how many records have each."""

    def __init__(self, space: SpaceTables):
        self._space = space
        rows = (
            []
            if space.made
            else space.run(
                "SELECT field, name, last FROM {table} WHERE space = %s", "fields", space.number
            )
        )
        self._fields = {decode_text(name): field for field, name, _ in rows} or {KIND: 0}
        self._last = {field: last for field, _, last in rows} or {0: 0}
        self._first_last = dict(self._last) if rows else {}
        self._codes: dict[Key, int] = {}
        self._more_uses: Counter[Key] = Counter()
        self._unused: list[tuple[int, int]] = []

    def assign_codes(self, records: Sequence[Mapping[str, bytes]]) -> NDArray[np.int32]:
        """Return the codes of each record's packed values, a row each, field by field."""
        keys = [
            {
                (self._number_field(name), blake2b(value, digest_size=16).digest()): value
                for name, value in record.items()
            }
            for record in records
        ]
        uses = Counter(key for record in keys for key in record)
        values = {key: value for record in keys for key, value in record.items()}
        if len(self._codes) > _REMEMBERED:
            self._codes.clear()
        new = self._look_up(values.keys() - self._codes.keys())
        if new:
            self._add({key: values[key] for key in new}, uses)
        self._more_uses.update({key: n for key, n in uses.items() if key not in new})
        codes = np.zeros((len(records), len(self._fields)), np.int32)
        for row, record in zip(codes, keys, strict=True):
            for key in record:
                row[key[0]] = self._codes[key]
        return codes

    def forget(self, gone: Sequence[tuple[int, int]]) -> None:
        """Uncount the values of deleted records, from one number to another."""
        self._unused += self._space.run(
            "UPDATE {table} AS v SET uses = v.uses - gone.n FROM ("
            "  SELECT (place - 1)::int AS field, code, count(*) AS n"
            "  FROM unnest(%s::bigint[], %s::bigint[]) AS r (first, last)"
            "  JOIN irdaemon.slots AS s ON s.space = %s AND s.record BETWEEN r.first AND r.last"
            "  CROSS JOIN unnest(s.codes) WITH ORDINALITY AS c (code, place)"
            "  WHERE code > 0 GROUP BY 1, 2"
            ") AS gone WHERE v.space = %s AND v.field = gone.field AND v.code = gone.code"
            " RETURNING v.field, v.code",
            "field_values",
            [first for first, _ in gone],
            [last for _, last in gone],
            self._space.number,
            self._space.number,
        )

    def finish(self) -> None:
        """Write the counts, and remove values that no record has any more."""
        self._count()
        space = self._space
        if self._unused:
            space.run(
                "DELETE FROM {table} AS v USING unnest(%s::int[], %s::int[]) AS u (field, code)"
                " WHERE v.space = %s AND v.field = u.field AND v.code = u.code AND v.uses <= 0",
                "field_values",
                [field for field, _ in self._unused],
                [code for _, code in self._unused],
                space.number,
            )
        if self._last == self._first_last:
            return
        if not space.made:
            space.run("DELETE FROM {table} WHERE space = %s", "fields", space.number)
        rows = ((at, encode_text(name), self._last[at]) for name, at in self._fields.items())
        space.copy_rows("fields", "field, name, last", ["int4", "bytea", "int4"], rows)

    def _number_field(self, name: str) -> int:
        field: int = self._fields.setdefault(name, len(self._fields))
        self._last.setdefault(field, 0)
        return field

    def _look_up(self, keys: set[Key]) -> set[Key]:
        """Look up the existing codes of values; return the values without one."""
        if not keys:
            return keys
        fields, digests = [field for field, _ in keys], [digest for _, digest in keys]
        found = self._space.run(
            "SELECT v.field, v.digest, v.code FROM unnest(%s::int[], %s::bytea[]) AS k (f, d)"
            " JOIN {table} AS v ON v.space = %s AND v.field = k.f AND v.digest = k.d",
            "field_values",
            fields,
            digests,
            self._space.number,
        )
        self._codes.update({(field, bytes(digest)): code for field, digest, code in found})
        return keys - self._codes.keys()

    def _add(self, values: Mapping[Key, bytes], uses: Mapping[Key, int]) -> None:
        for key in values:
            self._last[key[0]] += 1
            self._codes[key] = self._last[key[0]]
        self._space.copy_rows(
            "field_values",
            "field, code, digest, value, uses",
            ["int4", "int4", "bytea", "bytea", "int8"],
            ((key[0], self._codes[key], key[1], v, uses[key]) for key, v in values.items()),
        )

    def _count(self) -> None:
        keys = list(self._more_uses)
        if not keys:
            return
        self._space.run(
            "UPDATE {table} AS v SET uses = v.uses + k.n"
            " FROM unnest(%s::int[], %s::bytea[], %s::bigint[]) AS k (f, d, n)"
            " WHERE v.space = %s AND v.field = k.f AND v.digest = k.d",
            "field_values",
            [field for field, _ in keys],
            [digest for _, digest in keys],
            [self._more_uses[key] for key in keys],
            self._space.number,
        )
