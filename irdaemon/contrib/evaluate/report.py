"""The evaluation of a searcher by labelled cases: everything that one pass over them measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.counts import format_count
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.cases import Catalogue, query_id
from irdaemon.contrib.evaluate.choice import (
    Grid,
    calibrate_min_score,
    evaluate_selection,
    sweep_selector,
)
from irdaemon.contrib.evaluate.ranking import (
    METRICS,
    PRIMARY_K,
    Interval,
    Run,
    Searcher,
    ask_cases,
    check_metrics,
    evaluate_discovery,
    intervals,
    list_drift,
    measure_run,
    outcome,
)
from irdaemon.discovery.cases import Case
from irdaemon.types import Query

# Comparison: is one run better than another, or is it luck.

_SHUFFLES = 10_000
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference in a measure, and the two-sided p of a paired randomisation test.

    `interval` is the 95% interval of the difference, None for fewer than two pairs; `better` and
    `worse` count the pairs that differ. `drift` is the gold that no artifact was.
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

    Raises QueryError for an unknown measure, or where the cases are others.
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
    """Return how many random signs give a mean as far from 0, or farther."""
    chance, found = np.random.default_rng(0), 0
    least = abs(differences.mean()) - 1e-12
    for _ in range(_SHUFFLES // _AT_ONCE):
        signs = chance.choice((-1.0, 1.0), (_AT_ONCE, len(differences)))
        found += int((np.abs(signs @ differences) / len(differences) >= least).sum())
    return found


_DRIFT_SHOWN = 20
_RANKED_SHOWN = 10
_CHARS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Evaluating:
    """What is evaluated: cases, asked as `template` is; `grid` is what the sweep tries.

    `tell` is called with the number of cases asked so far.
    """

    cases: Sequence[Case]
    template: Query
    grid: Grid = field(default_factory=Grid)
    tell: Callable[[int], None] = lambda done: None


def report(
    searcher: Searcher, asked: Evaluating, catalogue: Catalogue
) -> tuple[dict[str, Any], list[Run]]:
    """Ask every case; return discovery, selection, sweep, floor, drift, every case, and the runs.

    Gold that the catalogue does not know is drift.
    """
    asked.grid.specs  # noqa: B018 - a grid that cannot be is refused before anything is asked
    runs = ask_cases(searcher, asked.cases, asked.template, asked.tell, catalogue)
    floor = calibrate_min_score(runs)
    given = asked.template.select.min_score
    threshold = given if isinstance(given, float) else floor.floor
    found = evaluate_discovery(runs, abstain_threshold=threshold).to_dict()
    del found["per_query"]  # it is in the cases
    chosen, told_floor, grid = evaluate_selection(runs).to_dict(), floor.to_dict(), asked.grid
    del told_floor["grid"]  # as long as the cases are many
    for part in (found, chosen, told_floor):
        del part["drift"]  # which is reported once
    return {
        "discovery": found,
        "selection": chosen,
        "floor": told_floor,
        "sweep": sweep_selector(runs, grid.max_k, grid.rel, grid.min_score).to_dict()["cells"],
        "drift": {
            "cases": sum(bool(run.unknown) for run in runs),
            "missing": list(list_drift(runs)[:_DRIFT_SHOWN]),
        },
        "cases": [_describe_run(run, number, threshold) for number, run in enumerate(runs)],
    }, runs


def _describe_run(run: Run, number: int, threshold: float | None) -> dict[str, Any]:
    """Return what became of one case, as plain data."""
    values = measure_run(run, METRICS, [PRIMARY_K]) if run.case.gold else {}
    return {
        "id": query_id(number),
        "query": run.case.query[:_CHARS_SHOWN],
        "gold": run.case.relevance,
        "outcome": outcome(run, threshold=threshold),
        "rank": run.rank,
        "top_score": run.top_score,
        "confidence": run.confidence,
        "ranked": run.ranked[:_RANKED_SHOWN],
        "committed": list(run.committed),
        "measures": {name: round(value, 4) for name, value in values.items()},
    }
