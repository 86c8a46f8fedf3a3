"""The evaluation of a searcher by labelled cases: everything that one pass over them measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from irdaemon.evaluate.calibrate import calibrate_min_score
from irdaemon.evaluate.cases import Case, query_id
from irdaemon.evaluate.choice import evaluate_selection
from irdaemon.evaluate.gold import Catalogue
from irdaemon.evaluate.ranking import METRICS, PRIMARY_K, evaluate_discovery, outcome, values_of
from irdaemon.evaluate.runs import Run, Searcher, answered, drift_of
from irdaemon.evaluate.sweep import Grid, sweep_selector
from irdaemon.types import Query

_DRIFT_SHOWN = 20
_RANKED_SHOWN = 10
_CHARS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Evaluating:
    """What is evaluated: cases, asked as `template` is; `grid` is what the sweep tries.

    `tell` is told how many cases were asked.
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
    runs = answered(searcher, asked.cases, asked.template, asked.tell, catalogue)
    floor = calibrate_min_score(runs)
    given = asked.template.select.min_score
    threshold = given if isinstance(given, float) else floor.floor
    found = evaluate_discovery(runs, abstain_threshold=threshold).to_dict()
    del found["per_query"]  # it is in the cases
    chosen, told_floor, grid = evaluate_selection(runs).to_dict(), floor.to_dict(), asked.grid
    del told_floor["grid"]  # as long as the cases are many
    for part in (found, chosen, told_floor):
        del part["drift"]  # it is told once
    return {
        "discovery": found,
        "selection": chosen,
        "floor": told_floor,
        "sweep": sweep_selector(runs, grid.max_k, grid.rel, grid.min_score).to_dict()["cells"],
        "drift": {
            "cases": sum(bool(run.unknown) for run in runs),
            "missing": list(drift_of(runs)[:_DRIFT_SHOWN]),
        },
        "cases": [_told(run, number, threshold) for number, run in enumerate(runs)],
    }, runs


def _told(run: Run, number: int, threshold: float | None) -> dict[str, Any]:
    """Return what became of one case, as plain data."""
    values = values_of(run, METRICS, [PRIMARY_K]) if run.case.gold else {}
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
