"""Compare runs: tell whether one is better than another, or only lucky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.counts import format_count
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import (
    PRIMARY_K,
    Interval,
    Run,
    check_metrics,
    intervals,
    list_drift,
    measure_run,
)

_SHUFFLES = 10_000
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference in a measure, and the two-sided p of a paired randomisation test.

    `interval` is the 95% interval of the difference, None for fewer than two pairs; `better` and
    `worse` count the pairs that differ. `drift` is gold that matches no artifact.
    """

    difference: float
    p: float
    n: int
    measure: str = ""
    interval: Interval | None = None
    better: int = 0
    worse: int = 0
    drift: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        spread = " [{:+.4f}, {:+.4f}]".format(*self.interval) if self.interval else ""
        return (
            f"{self.measure} {self.difference:+.4f}{spread}, p {self.p:.4f} over"
            f" {format_count(self.n, 'pair')}:"
            f" {self.better} better, {self.worse} worse"
        )


def compare(
    one: Sequence[Run], other: Sequence[Run], measure: str = "ndcg", k: int = PRIMARY_K
) -> Comparison:
    """Compare two runs over the same cases (Smucker, Allan and Carterette 2007); seeded.

    Raises QueryError for an unknown measure, or if the cases differ.
    """
    check_metrics([measure], [k])
    if [run.case.query for run in one] != [run.case.query for run in other]:
        raise QueryError("the runs are not over the same cases", "ask both the same cases")
    name = f"{measure}@{k}"
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a.case.gold]
    made = compare_values(
        name,
        [measure_run(a, [measure], [k])[name] for a, _ in pairs],
        [measure_run(b, [measure], [k])[name] for _, b in pairs],
    )
    return replace(made, drift=list_drift([*one, *other]))


def compare_values(measure: str, one: Sequence[float], other: Sequence[float]) -> Comparison:
    """Compare the values of a measure over the same queries; see `compare`."""
    differences = np.array(one, np.float64) - np.array(other, np.float64)
    n = len(differences)
    if not n:
        return Comparison(0.0, 1.0, 0, measure)
    mean = float(differences.mean())
    return Comparison(
        difference=mean,
        p=(_count_extremes(differences) + 1) / (_SHUFFLES + 1),
        n=n,
        measure=measure,
        interval=intervals({measure: differences.tolist()}).get(measure),
        better=int((differences > 0).sum()),
        worse=int((differences < 0).sum()),
    )


def _count_extremes(differences: NDArray[np.float64]) -> int:
    """Count the random sign assignments whose mean is at least as far from 0."""
    chance, found = np.random.default_rng(0), 0
    least = abs(differences.mean()) - 1e-12
    for _ in range(_SHUFFLES // _AT_ONCE):
        signs = chance.choice((-1.0, 1.0), (_AT_ONCE, len(differences)))
        found += int((np.abs(signs @ differences) / len(differences) >= least).sum())
    return found
