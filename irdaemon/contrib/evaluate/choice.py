"""Measure selections, given that the gold was among the candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from statistics import fmean, median
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from irclient.counts import format_count
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import Interval, Run, f1, intervals, list_drift
from irdaemon.discovery.decide import check_spec, resolve_rel, select
from irdaemon.types import SelectSpec

# The floor that separates labelled cases best: Youden's J (1950), and its inputs.

# One floor of the grid: the floor, and its sensitivity, specificity and j.
GridRow = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A floor (None with a `reason` if a class has no cases) and how well it separates.

    `j` = sensitivity + specificity - 1. `spread` has the least, median and largest score of each
    class. `n_retrieval_miss` cases, whose gold was not retrieved, are left out. `grid` has the
    `floor`, `sensitivity`, `specificity` and `j` of every floor tried. `drift` is gold that matches
    no artifact: those cases are left out as well.
    """

    floor: float | None
    j: float
    sensitivity: float
    specificity: float
    n_inside: int
    n_outside: int
    spread: dict[str, list[float]]
    reason: str = ""
    n_retrieval_miss: int = 0
    grid: tuple[GridRow, ...] = ()
    drift: tuple[str, ...] = ()

    @property
    def separable(self) -> bool:
        """Return whether the floor separates the classes without a mistake."""
        return self.j >= 1

    @property
    def balanced_accuracy(self) -> float:
        """Return the mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as plain data."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {
            **plain,
            "grid": list(self.grid),
            "drift": list(self.drift),
            "separable": self.separable,
            "balanced_accuracy": self.balanced_accuracy,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """Build a calibration from the output of `to_dict`, of this version or another."""
        known = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        return cls(**{**known, **{each: tuple(known.get(each, ())) for each in ("grid", "drift")}})

    def __str__(self) -> str:
        counts = (
            f"{format_count(self.n_inside, 'answerable query')} and"
            f" {format_count(self.n_outside, 'unanswerable query')},"
            f" {self.n_retrieval_miss} whose gold was not retrieved"
        )
        if self.floor is None:
            return f"Calibration: no floor, {self.reason} ({counts})"
        return (
            f"Calibration: floor {self.floor:.4f}, J {self.j:.3f}"
            f" (answers {self.sensitivity:.3f}, abstains {self.specificity:.3f}) over {counts}"
        )


def floor_of(
    inside: Sequence[float | None],
    outside: Sequence[float | None],
    weight: float = 0.5,
    grid: Sequence[float] | None = None,
) -> Calibration:
    """Return the floor that maximises weight * sensitivity + (1 - weight) * specificity.

    `inside` are the best scores of answerable queries, `outside` of unanswerable ones; None means
    no hit. Candidates are those of the `grid`; by default the midpoints of adjacent distinct
    scores, one below all and one above. Ties go to the highest. Raises QueryError for a grid that
    is empty or holds other values than finite numbers.
    """
    if grid is not None:
        _check_grid(grid)
    ins, outs = _sort_scores(inside), _sort_scores(outside)
    spread = {"inside": _summarize_scores(ins), "outside": _summarize_scores(outs)}
    if not len(ins) or not len(outs):
        missing = "" if not len(ins) + len(outs) else "un" * bool(len(ins)) + "answerable "
        why = f"no {missing}queries"
        return Calibration(None, 0.0, 0.0, 0.0, len(ins), len(outs), spread, why)
    floors = np.unique(grid) if grid is not None else _list_floors(np.concatenate([ins, outs]))
    sensitivity = 1 - np.searchsorted(ins, floors) / len(ins)
    specificity = np.searchsorted(outs, floors) / len(outs)
    value = weight * sensitivity + (1 - weight) * specificity
    best = len(value) - 1 - int(np.argmax(np.round(value[::-1], 12)))
    tried = tuple(
        {"floor": floor, "sensitivity": caught, "specificity": spared, "j": caught + spared - 1}
        for floor, caught, spared in zip(
            floors.tolist(), sensitivity.tolist(), specificity.tolist(), strict=True
        )
    )
    made = Calibration(**tried[best], n_inside=len(ins), n_outside=len(outs), spread=spread)
    return replace(made, grid=tried)


def _check_grid(grid: Sequence[float]) -> None:
    if not len(grid):
        raise QueryError("a grid without a floor", "give a non-empty list of numbers")
    if not all(isinstance(each, (int, float)) and math.isfinite(each) for each in grid):
        raise QueryError("a floor to try must be a finite number", f"not one of {list(grid)!r:.80}")


def calibrate_min_score(
    runs: Sequence[Run], weight: float = 0.5, grid: Sequence[float] | None = None
) -> Calibration:
    """Return the floor on the first score; leave out cases whose gold was not retrieved."""
    found = [run for run in runs if run.rank is not None]
    outside = [run.top_score for run in runs if not run.case.gold]
    missed = len(runs) - len(found) - len(outside)
    made = floor_of([run.top_score for run in found], outside, weight, grid)
    return replace(made, n_retrieval_miss=missed, drift=list_drift(runs))


def _sort_scores(scores: Sequence[float | None]) -> NDArray[np.float64]:
    return np.sort(np.array([-np.inf if s is None else s for s in scores], np.float64))


def _list_floors(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    distinct = np.unique(scores[np.isfinite(scores)])
    if not len(distinct):
        return np.array([0.0])
    middles = (distinct[1:] + distinct[:-1]) / 2
    return np.concatenate([[distinct[0] - 1e-6], middles, [distinct[-1] + 1e-6]])


def _summarize_scores(scores: NDArray[np.float64]) -> list[float]:
    finite = [float(score) for score in scores if np.isfinite(score)]
    return [finite[0], median(finite), finite[-1]] if finite else []


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """The quality of committed selections; a measure that cannot be computed is None.

    `commit_rate`: share that committed some gold; `precision` over cases that committed; `recall`
    of the gold that was retrieved; `f1`, 0 for an empty commit. All these are over the
    `n_retrieved` cases whose gold was among the candidates. `f1_all` is over every case with gold,
    and all of its gold: gold that was not retrieved counts as missed. `acted`: share of the cases
    with gold that committed anything; `abstention_accuracy`: share of the cases without gold that
    committed nothing; `j`: the sum of both, minus 1. `drift` is gold that matches no artifact.
    """

    n: int
    n_gold: int
    n_retrieved: int
    commit_rate: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    f1_all: float | None = None
    mean_committed: float | None = None
    acted: float | None = None
    abstention_accuracy: float | None = None
    j: float | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    drift: tuple[str, ...] = ()

    @property
    def n_retrieval_miss(self) -> int:
        """Count the cases with gold that had none of it among the candidates."""
        return self.n_gold - self.n_retrieved

    def value(self, measure: str) -> float | None:
        """Return a measure by name."""
        found: float | None = getattr(self, measure)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {**asdict(self), "n_retrieval_miss": self.n_retrieval_miss}

    def __str__(self) -> str:
        told = ((name, self.value(name)) for name in SELECTION_MEASURES)
        figures = [f"{name} {'n/a' if v is None else f'{v:.3f}'}" for name, v in told]
        return (
            f"SelectionReport: {format_count(self.n, 'case')}, {self.n_gold} with gold,"
            f" {self.n_retrieved} with it among the candidates\n  {', '.join(figures)}"
        )


SELECTION_MEASURES = (
    *("commit_rate", "precision", "recall", "f1", "f1_all"),
    *("mean_committed", "acted", "abstention_accuracy", "j"),
)


def evaluate_selection(runs: Sequence[Run], with_intervals: bool = True) -> SelectionReport:
    """Measure what runs committed; see SelectionReport. The 95% intervals take time."""
    series = _list_values(runs)
    means = {name: _compute_mean(values) for name, values in series.items()}
    full = [run for run in runs if run.case.gold]
    means["mean_committed"] = _compute_mean([len(run.committed) for run in full if run.committed])
    acted, abstention = means["acted"], means["abstention_accuracy"]
    means["j"] = None if abstention is None or acted is None else acted + abstention - 1
    rounded = {name: None if v is None else round(v, 4) for name, v in means.items()}
    return SelectionReport(
        n=len(runs),
        n_gold=len(full),
        n_retrieved=sum(run.rank is not None for run in full),
        **rounded,
        intervals=intervals(series) if with_intervals else {},
        drift=list_drift(runs),
    )


def _list_values(runs: Sequence[Run]) -> dict[str, list[float]]:
    """Return the values of each measure that is a mean over cases."""
    full = [run for run in runs if run.case.gold]
    found = [run for run in full if set(run.case.gold) & set(run.ranked)]
    pairs = [(run, *_measure_selection(run)) for run in found]
    return {
        "commit_rate": [float(precision > 0) for _, precision, _ in pairs],
        "precision": [precision for run, precision, _ in pairs if run.committed],
        "recall": [recall for _, _, recall in pairs],
        "f1": [f1(precision, recall) for _, precision, recall in pairs],
        "f1_all": [_measure_f1(run) for run in full],
        "acted": [float(bool(run.committed)) for run in full],
        "abstention_accuracy": [float(not run.committed) for run in runs if not run.case.gold],
    }


def _measure_selection(run: Run) -> tuple[float, float]:
    """Return the precision of a commit, and its recall of the retrieved gold."""
    gold, chosen = set(run.case.gold), set(run.committed)
    retrieved = gold & set(run.ranked)
    precision = len(chosen & gold) / len(chosen) if chosen else 0.0
    return precision, len(chosen & retrieved) / len(retrieved)


def _measure_f1(run: Run) -> float:
    good = len(set(run.committed) & set(run.case.gold))
    return f1(good / len(run.committed) if run.committed else 0.0, good / len(set(run.case.gold)))


def _compute_mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


# Sweep: try many selectors on the candidates of one retrieval pass.

MAX_K = (1, 2, 3, 5, 8)
REL = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OBJECTIVE = "f1"
# A grid of more selectors than this takes too long to be intended.
_MOST_CELLS = 10_000
_SHOWN = ("f1", "precision", "recall", "commit_rate", "mean_committed")


@dataclass(frozen=True, slots=True)
class Grid:
    """The combinations that a sweep tries. Raises QueryError for an impossible one."""

    max_k: tuple[int, ...] = MAX_K
    rel: tuple[float, ...] = REL
    min_score: tuple[float | None, ...] = (None,)

    @property
    def specs(self) -> list[SelectSpec]:
        """Return the selector of each combination."""
        if len(self.max_k) * len(self.rel) * len(self.min_score) > _MOST_CELLS:
            raise QueryError(f"a sweep of more than {_MOST_CELLS:,} selectors", "give fewer values")
        every = product(self.max_k, self.rel, self.min_score)
        specs = [SelectSpec(max_k=k, rel=rel, min_score=floor) for k, rel, floor in every]
        for spec in specs:
            check_spec(spec)
        return specs

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Grid:
        """Build a grid from plain data, with default values for missing keys."""
        wrong = data.keys() - cls.__slots__
        if wrong or not all(isinstance(each, (list, tuple)) for each in data.values()):
            raise QueryError(
                "a grid has lists of max_k, rel and min_score", 'such as {"max_k": [1, 3]}'
            )
        return cls(**{name: tuple(values) for name, values in data.items()})


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the selector and its results; see SelectionReport."""

    spec: SelectSpec
    report: SelectionReport

    def to_dict(self) -> dict[str, Any]:
        """Return the setting and its measures as plain data."""
        spec = {name: getattr(self.spec, name) for name in ("max_k", "rel", "min_score")}
        measures = {name: self.report.value(name) for name in SELECTION_MEASURES}
        return {**spec, "n": self.report.n, "n_retrieved": self.report.n_retrieved, **measures}


T = TypeVar("T")


def keep_unbeaten(points: Iterable[tuple[T, float | None, float | None]]) -> list[T]:
    """Return the cells that no other beats in both measures, by the first; None is not measured."""
    scored = [(each, x, y) for each, x, y in points if x is not None and y is not None]
    kept = [
        (each, x)
        for each, x, y in scored
        if not any(u >= x and v >= y and (u, v) != (x, y) for _, u, v in scored)
    ]
    return [each for each, _ in sorted(kept, key=lambda pair: pair[1])]


@dataclass(frozen=True, slots=True)
class Sweep:
    """All cells of a sweep, and the measure that chooses among them.

    `drift` is gold that matches no artifact.
    """

    cells: tuple[Cell, ...]
    objective: str = field(default=OBJECTIVE)
    drift: tuple[str, ...] = ()

    def best(self, measure: str = "") -> Cell:
        """Return the best cell by a measure, by default by the objective.

        Ties go to fewer items, smaller max_k, larger rel. Raises QueryError for an empty sweep or
        an unknown measure.
        """
        measure = _check_objective(measure or self.objective)
        if not self.cells:
            raise QueryError("the sweep is empty", "give at least one value of each kind")
        return min(self.cells, key=lambda cell: _rank_cell(cell, measure))

    def frontier(self, x: str = "recall", y: str = "precision") -> list[Cell]:
        """Return the cells that no other beats in both measures, by rising `x`."""
        x, y = _check_objective(x), _check_objective(y)
        return keep_unbeaten((c, c.report.value(x), c.report.value(y)) for c in self.cells)

    def table(self) -> str:
        """Return the sweep as lines of text, the best cell by its objective first."""
        floors = any(cell.spec.min_score is not None for cell in self.cells)
        names = _SHOWN if self.objective in _SHOWN else (self.objective, *_SHOWN)
        head = ["max_k", "rel", *(["min_score"] if floors else []), *names]
        rows = [head]
        for cell in sorted(self.cells, key=lambda each: _rank_cell(each, self.objective)):
            spec = cell.spec
            own = [str(spec.max_k), f"{spec.rel:g}", *([str(spec.min_score)] if floors else [])]
            rows.append(own + [_format_figure(cell.report.value(name)) for name in names])
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
            f"Sweep: {format_count(len(self.cells), 'selector')};"
            f" best ({self.objective}): {best}\n{self.table()}"
        )


def sweep_selector(
    runs: Sequence[Run],
    max_k: Sequence[int] = MAX_K,
    rel: Sequence[float] = REL,
    min_score: Sequence[float | None] = (None,),
    objective: str = OBJECTIVE,
) -> Sweep:
    """Select again from the candidates of `runs` with every combination, without a new search.

    Raises QueryError for an impossible value or an unknown objective.
    """
    objective = _check_objective(objective)
    specs = Grid(tuple(max_k), tuple(rel), tuple(min_score)).specs
    again = ((spec, _select_again(runs, spec)) for spec in specs)
    cells = tuple(Cell(s, evaluate_selection(each, with_intervals=False)) for s, each in again)
    return Sweep(cells, objective, list_drift(runs))


def _check_objective(measure: str) -> str:
    """Return a measure's name without `selection_`: a sweep has no other measures."""
    name = measure.removeprefix("selection_")
    if name not in SELECTION_MEASURES:
        known = ", ".join(SELECTION_MEASURES)
        raise QueryError(f"no measure {measure!r} in a sweep", f"measures: {known}")
    return name


def _select_again(runs: Sequence[Run], spec: SelectSpec) -> list[Run]:
    chosen = []
    for run in runs:
        size = len(select(run.hits, spec).hits) if run.hits else 0
        # The strategies swept take from the top, so the chosen ids are the first ones.
        chosen.append(replace(run, committed=tuple(run.ranked[:size]), abstained=not size))
    return chosen


def _rank_cell(cell: Cell, measure: str) -> tuple[float, float, int, float]:
    value = cell.report.value(measure)
    size = cell.report.mean_committed or 0.0
    sign = 1 if measure == "mean_committed" else -1
    return (
        float("inf") if value is None else sign * value,
        size,
        cell.spec.max_k,
        -resolve_rel(cell.spec),
    )


def _format_figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
