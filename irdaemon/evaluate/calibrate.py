"""The floor that separates labelled cases best: Youden's J (1950), with everything it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

import numpy as np

from irclient.errors import QueryError
from irdaemon.evaluate.runs import Run, drift_of

# A floor that was tried: itself, sensitivity, specificity and j there.
GridRow = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A floor (None with a `reason` where one class is missing) and how well it separates.

    `j` = sensitivity + specificity - 1. `spread` has least, median and largest score of each class.
    `n_retrieval_miss` cases are left out, whose gold was not retrieved. `grid` has every floor that
    was tried: `floor`, `sensitivity`, `specificity` and `j` there. `drift` is the gold that no
    artifact was: those cases are left out as well.
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
        """Return whether the floor makes no mistake at all."""
        return self.j >= 1

    @property
    def balanced_accuracy(self) -> float:
        """Return the mean of sensitivity and specificity."""
        return (self.sensitivity + self.specificity) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
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
        """Build a calibration from what `to_dict` gave, in this version or another."""
        known = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        return cls(**{**known, **{each: tuple(known.get(each, ())) for each in ("grid", "drift")}})

    def __str__(self) -> str:
        counts = (
            f"{self.n_inside} answerable and {self.n_outside} unanswerable queries,"
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

    `inside` are the best scores of answerable queries, `outside` of unanswerable ones; None: no hit
    at all. Candidates are those of the `grid`; by default the midpoints of adjacent distinct
    scores, one below all and one above. Of equals the highest is taken. Raises QueryError for a
    grid that is empty or not of finite numbers.
    """
    if grid is not None:
        _check_grid(grid)
    ins, outs = _sorted(inside), _sorted(outside)
    spread = {"inside": _spread(ins), "outside": _spread(outs)}
    if not len(ins) or not len(outs):
        missing = "" if not len(ins) + len(outs) else "un" * bool(len(ins)) + "answerable "
        why = f"no {missing}queries"
        return Calibration(None, 0.0, 0.0, 0.0, len(ins), len(outs), spread, why)
    floors = np.unique(grid) if grid is not None else _candidates(np.concatenate([ins, outs]))
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
    """Return the floor on the first score; cases whose gold was not retrieved are left out."""
    found = [run for run in runs if run.rank is not None]
    outside = [run.top_score for run in runs if not run.case.gold]
    missed = len(runs) - len(found) - len(outside)
    made = floor_of([run.top_score for run in found], outside, weight, grid)
    return replace(made, n_retrieval_miss=missed, drift=drift_of(runs))


def _sorted(scores: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.sort(np.array([-np.inf if s is None else s for s in scores], np.float64))


def _candidates(
    scores: np.ndarray[Any, np.dtype[np.float64]],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    distinct = np.unique(scores[np.isfinite(scores)])
    if not len(distinct):
        return np.array([0.0])
    middles = (distinct[1:] + distinct[:-1]) / 2
    return np.concatenate([[distinct[0] - 1e-6], middles, [distinct[-1] + 1e-6]])


def _spread(scores: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    finite = [float(score) for score in scores if np.isfinite(score)]
    return [finite[0], median(finite), finite[-1]] if finite else []
