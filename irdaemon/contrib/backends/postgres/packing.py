"""Encode values for columns: texts and rows as bytes, and COPY's binary form.

PostgreSQL's text type holds neither NUL nor lone surrogates, which indexed texts may contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from irdaemon.contrib.backends.postgres.connections import Connection

# COPY's binary form: signature, flags and an empty extension; and the trailer.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"

_INT4_OID = 23
# A record's number is its artifact's, shifted by this many bits, plus its surface's.
SURFACE_BITS = 20


def pack(value: Any) -> bytes:
    """Return a value as msgpack, with lone surrogates in texts; `unpack_bytes` reads it."""
    data: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return data


def encode_text(text: str) -> bytes:
    """Return a text as UTF-8, including lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """Return the text that `encode_text` encoded."""
    return bytes(data).decode("utf-8", "surrogatepass")


def hash_id(artifact_id: str) -> int:
    """Return a number for an id; collisions are rare."""
    digest = blake2b(encode_text(artifact_id), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def encode_rows(columns: Sequence[tuple[str, Any]]) -> bytes:
    """Return rows in COPY's binary form, given each column's type ("i4", "f4") and values.

    Each row of a two-dimensional i4 column is an array, of an f4 column a pgvector vector.
    """
    arrays = [(kind, np.asarray(values)) for kind, values in columns]
    size = max(array.shape[0] if array.ndim else 0 for _, array in arrays)
    layout: list[tuple[Any, ...]] = [("columns", ">i2")]
    content: dict[str, Any] = {"columns": len(arrays)}
    for at, (kind, array) in enumerate(arrays):
        head = _encode_head(kind, array)
        layout += [(f"size{at}", ">i4"), *((f"{name}{at}", form) for name, form, _ in head)]
        content |= {f"{name}{at}": value for name, _, value in head}
        shape = array.shape[1:]
        if kind == "i4" and array.ndim == 2:  # each item preceded by its size
            layout.append((f"value{at}", np.dtype([("size", ">i4"), ("item", ">i4")]), shape))
        else:
            layout.append((f"value{at}", f">{kind}", shape))
        head_size = sum(np.dtype(form).itemsize for _, form, _ in head)
        content[f"size{at}"] = head_size + np.dtype(layout[-1][1:]).itemsize
    rows = np.zeros(size, np.dtype(layout))
    for name, value in content.items():
        rows[name] = value
    for at, (kind, array) in enumerate(arrays):
        if kind == "i4" and array.ndim == 2:
            rows[f"value{at}"]["size"], rows[f"value{at}"]["item"] = 4, array
        else:
            rows[f"value{at}"] = array
    return rows.tobytes()


def _encode_head(kind: str, array: NDArray[Any]) -> list[tuple[str, str, int]]:
    """Return the header of an array or vector, before its items: name, type and value."""
    if array.ndim < 2:
        return []
    if kind == "f4":
        return [("dim", ">i2", array.shape[1]), ("unused", ">i2", 0)]
    if not array.shape[1]:
        return [("ndim", ">i4", 0), ("nulls", ">i4", 0), ("oid", ">i4", _INT4_OID)]
    return [
        ("ndim", ">i4", 1),
        ("nulls", ">i4", 0),
        ("oid", ">i4", _INT4_OID),
        ("items", ">i4", array.shape[1]),
        ("first", ">i4", 1),
    ]


# The space that a delta is written to, and its tables.


@dataclass(frozen=True, slots=True)
class SpaceTables:
    """The tables of the rows of a corpus. `made` is whether this transaction creates the space."""

    connection: Connection
    number: int
    dim: int
    made: bool

    def name_part(self, table: str) -> sql.Identifier:
        """Return the name of this space's partition of a table, which accepts COPY."""
        return sql.Identifier("irdaemon", f"{table}_{self.number}")

    def run(self, statement: str, table: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement on a `{table}` of this space; return its rows, if any."""
        # A new partition is not attached to its table yet.
        name = self.name_part(table) if self.made else sql.Identifier("irdaemon", table)
        done = self.connection.execute(sql.SQL(statement).format(table=name), values)
        return done.fetchall() if done.description else []

    def copy_columns(self, table: str, names: str, columns: Sequence[tuple[str, Any]]) -> None:
        """Add rows of numbers, column by column (see `encode_rows`)."""
        size = len(columns[0][1])
        if size:
            data = encode_rows([("i4", [self.number] * size), *columns])
            with self.connection.cursor().copy(self._copy(table, names)) as copy:
                copy.write(COPY_HEADER)
                copy.write(data)
                copy.write(COPY_END)

    def copy_rows(
        self, table: str, names: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Add rows."""
        with self.connection.cursor().copy(self._copy(table, names)) as copy:
            copy.set_types(["int4", *types])
            for row in rows:
                copy.write_row((self.number, *row))

    def _copy(self, table: str, names: str) -> sql.Composed:
        # FREEZE: rows of a new partition can be read without a vacuum or visibility checks.
        options = "FORMAT BINARY, FREEZE" if self.made else "FORMAT BINARY"
        text = f"COPY {{}} (space, {names}) FROM STDIN ({options})"
        return sql.SQL(text).format(self.name_part(table))
