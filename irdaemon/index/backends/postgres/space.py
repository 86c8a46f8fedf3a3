"""The space that a delta is written into, and the tables of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from irdaemon.index.backends.postgres.connections import Connection
from irdaemon.index.backends.postgres.packing import COPY_END, COPY_HEADER, copied_rows


@dataclass(frozen=True, slots=True)
class SpaceTables:
    """Where the rows of a corpus lie. `made` is whether this transaction makes it."""

    connection: Connection
    number: int
    dim: int
    made: bool

    def own(self, table: str) -> sql.Identifier:
        """Return its own part of a table, which takes COPY."""
        return sql.Identifier("irdaemon", f"{table}_{self.number}")

    def table(self, table: str) -> sql.Identifier:
        """Return the table to read from and to change: one that is being made is not part yet."""
        return self.own(table) if self.made else sql.Identifier("irdaemon", table)

    def run(self, statement: str, table: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement on a `{table}` of this space; return its rows, if it gives any."""
        done = self.connection.execute(sql.SQL(statement).format(table=self.table(table)), values)
        return done.fetchall() if done.description else []

    def copy_columns(self, table: str, names: str, columns: Sequence[tuple[str, Any]]) -> None:
        """Add rows that are numbers, column by column (see `copied_rows`)."""
        size = len(columns[0][1])
        if size:
            data = copied_rows([("i4", [self.number] * size), *columns])
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
        # What is made in this transaction needs no vacuum to be read without looking each row up.
        options = "FORMAT BINARY, FREEZE" if self.made else "FORMAT BINARY"
        text = f"COPY {{}} (space, {names}) FROM STDIN ({options})"
        return sql.SQL(text).format(self.own(table))
