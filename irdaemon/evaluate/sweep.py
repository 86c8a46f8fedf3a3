"""Try many selectors on the candidates of one retrieval pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from irclient.errors import QueryError
from irdaemon.evaluate.runs import Run, evaluate_selection
from irdaemon.selection.strategies import check_spec, select
from irdaemon.types import SelectSpec

MAX_K = (1, 2, 3, 5, 8)
REL = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the selector, and how it did; see `evaluate_selection`."""

    spec: SelectSpec
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sweep:
    """All the cells of a sweep."""

    cells: tuple[Cell, ...]

    def best(self, measure: str = "f1") -> Cell:
        """Return the best cell by a measure; ties go to fewer items, smaller max_k, larger rel.

        Raises QueryError for an empty sweep or an unknown measure.
        """
        if not self.cells or measure not in self.cells[0].report:
            known = ", ".join(self.cells[0].report) if self.cells else "none: the sweep is empty"
            raise QueryError(f"no measure {measure!r} in this sweep", f"measures: {known}")
        return min(self.cells, key=lambda cell: _worse(cell, measure))

    def frontier(self, x: str = "recall", y: str = "precision") -> list[Cell]:
        """Return the cells that no other beats in both measures, by rising `x`."""
        scored = [c for c in self.cells if c.report[x] is not None and c.report[y] is not None]
        kept = [cell for cell in scored if not any(_beats(o, cell, x, y) for o in scored)]
        return sorted(kept, key=lambda cell: float(cell.report[x]))

    def table(self) -> str:
        """Return the sweep as lines of text, best F1 first."""
        floors = any(cell.spec.min_score is not None for cell in self.cells)
        names = ("f1", "precision", "recall", "commit_rate", "mean_committed")
        head = ["max_k", "rel", *(["min_score"] if floors else []), *names]
        rows = [head]
        for cell in sorted(self.cells, key=lambda each: _worse(each, "f1")):
            spec = cell.spec
            own = [str(spec.max_k), f"{spec.rel:g}", *([str(spec.min_score)] if floors else [])]
            rows.append(own + [_figure(cell.report[name]) for name in names])
        widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
        return "\n".join(
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in rows
        )


def sweep_selector(
    runs: Sequence[Run],
    max_k: Sequence[int] = MAX_K,
    rel: Sequence[float] = REL,
    min_score: Sequence[float | None] = (None,),
) -> Sweep:
    """Select anew from the candidates of `runs` in every combination; nothing is searched again.

    Raises QueryError for an impossible value.
    """
    specs = [SelectSpec(max_k=k, rel=r, min_score=m) for k, r, m in product(max_k, rel, min_score)]
    for spec in specs:
        check_spec(spec)
    return Sweep(tuple(Cell(spec, evaluate_selection(_reselected(runs, spec))) for spec in specs))


def _reselected(runs: Sequence[Run], spec: SelectSpec) -> list[Run]:
    chosen = []
    for run in runs:
        size = len(select(run.hits, spec).hits) if run.hits else 0
        # The strategies swept take from the top, so the first ids are those of the chosen.
        chosen.append(replace(run, committed=tuple(run.ranked[:size]), abstained=not size))
    return chosen


def _worse(cell: Cell, measure: str) -> tuple[float, float, int, float]:
    value = cell.report[measure]
    size = cell.report["mean_committed"] or 0.0
    sign = 1 if measure == "mean_committed" else -1
    return (
        float("inf") if value is None else sign * value,
        size,
        cell.spec.max_k,
        -cell.spec.rel,
    )


def _beats(one: Cell, other: Cell, x: str, y: str) -> bool:
    better = one.report[x] >= other.report[x] and one.report[y] >= other.report[y]
    return better and (one.report[x], one.report[y]) != (other.report[x], other.report[y])


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
