"""Try many selectors on the candidates of one retrieval pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from irclient.errors import QueryError
from irdaemon.discovery.decide import check_spec, rel_of, select
from irdaemon.evaluate.choice import SELECTION_MEASURES, SelectionReport, selection_means
from irdaemon.evaluate.runs import Run, drift_of
from irdaemon.types import SelectSpec

MAX_K = (1, 2, 3, 5, 8)
REL = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OBJECTIVE = "f1"
# A grid of more selectors than this takes too long to be meant.
_MOST_CELLS = 10_000
_SHOWN = ("f1", "precision", "recall", "commit_rate", "mean_committed")


@dataclass(frozen=True, slots=True)
class Grid:
    """What a sweep tries: every combination of these. Raises QueryError for an impossible one."""

    max_k: tuple[int, ...] = MAX_K
    rel: tuple[float, ...] = REL
    min_score: tuple[float | None, ...] = (None,)

    @property
    def specs(self) -> list[SelectSpec]:
        """Return the selectors."""
        if len(self.max_k) * len(self.rel) * len(self.min_score) > _MOST_CELLS:
            raise QueryError(f"a sweep of more than {_MOST_CELLS:,} selectors", "give fewer values")
        every = product(self.max_k, self.rel, self.min_score)
        specs = [SelectSpec(max_k=k, rel=rel, min_score=floor) for k, rel, floor in every]
        for spec in specs:
            check_spec(spec)
        return specs

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Grid:
        """Build a grid from plain data, with the usual values of what is left out."""
        wrong = data.keys() - cls.__slots__
        if wrong or not all(isinstance(each, (list, tuple)) for each in data.values()):
            raise QueryError(
                "a grid has lists of max_k, rel and min_score", 'such as {"max_k": [1, 3]}'
            )
        return cls(**{name: tuple(values) for name, values in data.items()})


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the selector, and how it did; see SelectionReport."""

    spec: SelectSpec
    report: SelectionReport

    def to_dict(self) -> dict[str, Any]:
        """Return the setting and its measures as plain data."""
        spec = {name: getattr(self.spec, name) for name in ("max_k", "rel", "min_score")}
        measures = {name: self.report.value(name) for name in SELECTION_MEASURES}
        return {**spec, "n": self.report.n, "n_retrieved": self.report.n_retrieved, **measures}


@dataclass(frozen=True, slots=True)
class Sweep:
    """All the cells of a sweep, and the measure that chooses among them.

    `drift` is the gold that no artifact was.
    """

    cells: tuple[Cell, ...]
    objective: str = field(default=OBJECTIVE)
    drift: tuple[str, ...] = ()

    def best(self, measure: str = "") -> Cell:
        """Return the best cell by a measure, by default by the objective.

        Ties go to fewer items, smaller max_k, larger rel. Raises QueryError for an empty sweep or
        an unknown measure.
        """
        measure = _objective(measure or self.objective)
        if not self.cells:
            raise QueryError("the sweep is empty", "give at least one value of each kind")
        return min(self.cells, key=lambda cell: _worse(cell, measure))

    def frontier(self, x: str = "recall", y: str = "precision") -> list[Cell]:
        """Return the cells that no other beats in both measures, by rising `x`."""
        x, y = _objective(x), _objective(y)
        scored = [(c, c.report.value(x), c.report.value(y)) for c in self.cells]
        points = [(c, a, b) for c, a, b in scored if a is not None and b is not None]
        kept = [
            (cell, a)
            for cell, a, b in points
            if not any(u >= a and v >= b and (u, v) != (a, b) for _, u, v in points)
        ]
        return [cell for cell, _ in sorted(kept, key=lambda pair: pair[1])]

    def table(self) -> str:
        """Return the sweep as lines of text, the best by its objective first."""
        floors = any(cell.spec.min_score is not None for cell in self.cells)
        names = _SHOWN if self.objective in _SHOWN else (self.objective, *_SHOWN)
        head = ["max_k", "rel", *(["min_score"] if floors else []), *names]
        rows = [head]
        for cell in sorted(self.cells, key=lambda each: _worse(each, self.objective)):
            spec = cell.spec
            own = [str(spec.max_k), f"{spec.rel:g}", *([str(spec.min_score)] if floors else [])]
            rows.append(own + [_figure(cell.report.value(name)) for name in names])
        widths = [max(len(row[at]) for row in rows) for at in range(len(head))]
        return "\n".join(
            "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
            for row in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as plain data; `best` is None for an empty one."""
        return {
            "objective": self.objective,
            "best": self.best().to_dict() if self.cells else None,
            "cells": [cell.to_dict() for cell in self.cells],
            "drift": list(self.drift),
        }

    def __str__(self) -> str:
        if not self.cells:
            return "Sweep: empty"
        spec = self.best().spec
        floor = "" if spec.min_score is None else f", min_score {spec.min_score:g}"
        best = f"max_k {spec.max_k}, rel {spec.rel:g}{floor}"
        return (
            f"Sweep: {len(self.cells)} selectors; best ({self.objective}): {best}\n{self.table()}"
        )


def sweep_selector(
    runs: Sequence[Run],
    max_k: Sequence[int] = MAX_K,
    rel: Sequence[float] = REL,
    min_score: Sequence[float | None] = (None,),
    objective: str = OBJECTIVE,
) -> Sweep:
    """Select anew from the candidates of `runs` in every combination; nothing is searched again.

    Raises QueryError for an impossible value or an unknown objective.
    """
    objective = _objective(objective)
    specs = Grid(tuple(max_k), tuple(rel), tuple(min_score)).specs
    cells = (Cell(spec, selection_means(_reselected(runs, spec))) for spec in specs)
    return Sweep(tuple(cells), objective, drift_of(runs))


def _objective(measure: str) -> str:
    """Return a measure's name, `selection_` before it left out, as a sweep is of nothing else."""
    name = measure.removeprefix("selection_")
    if name not in SELECTION_MEASURES:
        known = ", ".join(SELECTION_MEASURES)
        raise QueryError(f"no measure {measure!r} in a sweep", f"measures: {known}")
    return name


def _reselected(runs: Sequence[Run], spec: SelectSpec) -> list[Run]:
    chosen = []
    for run in runs:
        size = len(select(run.hits, spec).hits) if run.hits else 0
        # The strategies swept take from the top, so the first ids are those of the chosen.
        chosen.append(replace(run, committed=tuple(run.ranked[:size]), abstained=not size))
    return chosen


def _worse(cell: Cell, measure: str) -> tuple[float, float, int, float]:
    value = cell.report.value(measure)
    size = cell.report.mean_committed or 0.0
    sign = 1 if measure == "mean_committed" else -1
    return (
        float("inf") if value is None else sign * value,
        size,
        cell.spec.max_k,
        -rel_of(cell.spec),
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
