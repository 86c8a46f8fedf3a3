"""Tables and lines that fit a terminal: a table has one line per row at any width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irclient.terminal.width import UNCUT, clip, count_cells, wrap

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


def format_table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows in columns, numbers to the right."""
    return fit_table([TableColumn(head) for head in heads], rows, UNCUT)


def fit_table(columns: Sequence[TableColumn], rows: Iterable[Sequence[Any]], width: int) -> str:
    """Return rows in columns, numbers to the right, within `width` cells if possible.

    Columns that allow it are clipped first, then left out.
    """
    found = [list(row) for row in rows]
    shown = _format_cells(columns, found)
    kept = list(range(len(columns)))
    while (widths := _choose_widths(columns, shown, kept, width)) is None:
        kept.remove(max(kept, key=lambda at: columns[at].optional))
    right = {at: bool(found) and all(_is_number(row[at]) for row in found) for at in kept}
    return "\n".join(
        _GAP.join(_pad(clip(row[at], widths[at]), widths[at], right[at]) for at in kept).rstrip()
        for row in shown
    )


def wrap_line(line: str, width: int) -> str:
    """Return a line as one or more lines of at most `width` cells, broken between words.

    A single longer word, such as a path, stays whole.
    """
    if count_cells(line) <= width:
        return line
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    return "\n".join(indent + part for part in wrap(words.split(" "), " ", width - len(indent)))


def _format_cells(columns: Sequence[TableColumn], rows: list[list[Any]]) -> list[list[str]]:
    return [
        [column.head for column in columns],
        *([_format_cell(value) for value in row] for row in rows),
    ]


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


def _format_cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
