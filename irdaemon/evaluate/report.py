"""The report of `irc eval`: everything that one pass over the cases measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irdaemon.evaluate.calibrate import calibrate_min_score
from irdaemon.evaluate.cases import Case, validate_cases
from irdaemon.evaluate.gold import Catalogue
from irdaemon.evaluate.runs import Searcher, answered, evaluate_discovery, evaluate_selection
from irdaemon.evaluate.sweep import sweep_selector
from irdaemon.types import Query

_DRIFT_SHOWN = 20


def report(
    searcher: Searcher, cases: Sequence[Case], template: Query, catalogue: Catalogue
) -> dict[str, Any]:
    """Ask every case and return discovery, selection, sweep, the best floor, and drift.

    Gold that the catalogue does not know is drift.
    """
    cases = [catalogue.resolved(case) for case in cases]
    runs = answered(searcher, cases, template)
    floor = calibrate_min_score(runs)
    threshold = template.select.min_score
    missing = validate_cases(cases, catalogue.ids)
    return {
        "discovery": evaluate_discovery(
            runs, abstain_threshold=threshold if isinstance(threshold, float) else floor.floor
        ),
        "selection": evaluate_selection(runs),
        "floor": floor.to_dict(),
        "sweep": [
            {"max_k": cell.spec.max_k, "rel": cell.spec.rel, **cell.report}
            for cell in sweep_selector(runs).cells
        ],
        "drift": {
            "cases": len(missing),
            "missing": sorted({gold for ids in missing.values() for gold in ids})[:_DRIFT_SHOWN],
        },
    }
