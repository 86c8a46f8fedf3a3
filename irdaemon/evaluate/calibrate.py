"""The floor that separates labelled cases best: Youden's J (1950), with everything it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from irdaemon.evaluate.runs import Run


@dataclass(frozen=True, slots=True)
class Calibration:
    """A floor (None with a `reason` where one class is missing) and how well it separates.

    `j` = sensitivity + specificity - 1. `spread` has least, median and largest score of each class.
    """

    floor: float | None
    j: float
    sensitivity: float
    specificity: float
    n_inside: int
    n_outside: int
    spread: dict[str, list[float]]
    reason: str = ""

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
            "separable": self.separable,
            "balanced_accuracy": self.balanced_accuracy,
        }


def floor_of(
    inside: Sequence[float | None], outside: Sequence[float | None], weight: float = 0.5
) -> Calibration:
    """Return the floor that maximises weight * sensitivity + (1 - weight) * specificity.

    `inside` are the best scores of answerable queries, `outside` of unanswerable ones; None: no hit
    at all. Candidates are the midpoints of adjacent distinct scores, one below all and one above;
    of equals the highest is taken.
    """
    ins, outs = _sorted(inside), _sorted(outside)
    spread = {"inside": _spread(ins), "outside": _spread(outs)}
    if not len(ins) or not len(outs):
        missing = "answerable" if not len(ins) else "unanswerable"
        why = f"no {missing} queries"
        return Calibration(None, 0.0, 0.0, 0.0, len(ins), len(outs), spread, why)
    floors = _candidates(np.concatenate([ins, outs]))
    sensitivity = 1 - np.searchsorted(ins, floors) / len(ins)
    specificity = np.searchsorted(outs, floors) / len(outs)
    value = weight * sensitivity + (1 - weight) * specificity
    best = len(value) - 1 - int(np.argmax(np.round(value[::-1], 12)))
    caught, spared = float(sensitivity[best]), float(specificity[best])
    return Calibration(
        float(floors[best]), caught + spared - 1, caught, spared, len(ins), len(outs), spread
    )


def calibrate_min_score(runs: Sequence[Run], weight: float = 0.5) -> Calibration:
    """Return the floor on the first score; cases whose gold was not retrieved are left out."""
    inside = [r.top_score for r in runs if set(r.case.gold) & set(r.ranked)]
    outside = [r.top_score for r in runs if not r.case.gold]
    return floor_of(inside, outside, weight)


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
