"""Tables and lines that fit a terminal: a table has one line per row at any width."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irclient.terminal.output import print_data
from irclient.terminal.width import UNCUT, clip, count_cells, detect_terminal, wrap

_GAP = "  "


class TableColumn:
    """A column of a table: its heading, and how it shrinks if room is short.

    `least` is the width in cells to which it may be clipped (0: never). Of the columns with an
    `optional` rank the highest is left out first.
    """

    __slots__ = ("head", "least", "optional")

    def __init__(self, head: str, optional: int = 0, least: int = 0):
        self.head = head
        self.optional = optional
        self.least = least


class Table:
    """Rows in columns, numbers to the right; a plain heading is a column that is never cut."""

    __slots__ = ("_columns", "_indent", "_rows")

    def __init__(
        self,
        columns: Iterable[TableColumn | str],
        rows: Iterable[Sequence[Any]],
        indent: str = "",
    ):
        self._columns = [TableColumn(each) if isinstance(each, str) else each for each in columns]
        self._rows = rows
        self._indent = indent

    def fit(self, width: int) -> str:
        """Return the lines within `width` cells if possible.

        Columns that allow it are clipped first, then left out.
        """
        columns, found = self._columns, [list(row) for row in self._rows]
        shown = [
            [column.head for column in columns],
            *(
                [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row]
                for row in found
            ),
        ]
        kept = list(range(len(columns)))
        width -= len(self._indent)
        while (widths := _choose_widths(columns, shown, kept, width)) is None:
            kept.remove(max(kept, key=lambda at: columns[at].optional))
        right = {
            at: bool(found) and all(isinstance(row[at], (int, float)) for row in found)
            for at in kept
        }
        return "\n".join(
            self._indent
            + _GAP.join(
                _pad(clip(row[at], widths[at]), widths[at], right[at]) for at in kept
            ).rstrip()
            for row in shown
        )


class Verbatim(str):
    """A line to copy, such as a path or a command: it is not wrapped."""

    __slots__ = ()


# Output for a person: lines, which are wrapped, and tables, which are fitted to the terminal.
Report = str | Iterable[str | Table]


def print_report(options: argparse.Namespace, value: Any, report: Callable[[Any], Report]) -> int:
    """Print a value as JSON, or as its report, as wide as the terminal; return DONE."""
    return print_data(
        options, value, lambda plain: fit_report(report(plain), detect_terminal().width)
    )


def fit_report(report: Report, width: int = UNCUT) -> str:
    """Return a report as lines of at most `width` cells if possible."""
    parts = [report] if isinstance(report, str) else report
    return "\n".join(_fit_part(part, width) for part in parts)


def _fit_part(part: str | Table, width: int) -> str:
    if isinstance(part, Table):
        return part.fit(width)
    return part if isinstance(part, Verbatim) else wrap_line(part, width)


def wrap_line(line: str, width: int) -> str:
    """Return a line as one or more lines of at most `width` cells, broken between words.

    A single longer word, such as a path, stays whole.
    """
    if count_cells(line) <= width:
        return line
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    return "\n".join(indent + part for part in wrap(words.split(" "), " ", width - len(indent)))


def _choose_widths(
    columns: Sequence[TableColumn], shown: list[list[str]], kept: list[int], width: int
) -> dict[int, int] | None:
    """Return the width of each kept column; None if another one has to be left out."""
    widths = {at: max(count_cells(row[at]) for row in shown) for at in kept}
    beyond = sum(widths.values()) + len(_GAP) * (len(kept) - 1) - width
    elastic = [at for at in kept if columns[at].least]
    while beyond > 0 and (able := [at for at in elastic if widths[at] > columns[at].least]):
        widths[max(able, key=lambda at: widths[at])] -= 1
        beyond -= 1
    if beyond > 0 and any(columns[at].optional for at in kept):
        return None
    return widths


def _pad(cell: str, width: int, to_right: bool) -> str:
    room = " " * (width - count_cells(cell))
    return room + cell if to_right else cell + room
