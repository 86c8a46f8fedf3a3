"""Evaluation: cases, runs, and the reports made of them.

runs = answered(engine, load_cases("cases.jsonl"), Query(""))
evaluate_discovery(runs); evaluate_selection(runs); sweep_selector(runs).best()
"""

from __future__ import annotations

from irdaemon.evaluate.baseline import plain_bm25
from irdaemon.evaluate.calibrate import Calibration, calibrate_min_score, floor_of
from irdaemon.evaluate.cases import (
    Case,
    corpus_signature,
    load_cases,
    parse_cases,
    save_cases,
    validate_cases,
)
from irdaemon.evaluate.compare import Comparison, compare
from irdaemon.evaluate.curve import distractor_robustness_curve
from irdaemon.evaluate.generate import generate_abstentions, generate_cases
from irdaemon.evaluate.gold import Catalogue
from irdaemon.evaluate.graded import (
    GradedQuery,
    IndexingComparison,
    compare_indexings,
    graded_ndcg,
)
from irdaemon.evaluate.report import report
from irdaemon.evaluate.runs import (
    Run,
    Searcher,
    answered,
    evaluate_discovery,
    evaluate_selection,
    outcome,
)
from irdaemon.evaluate.sweep import Cell, Sweep, sweep_selector

__all__ = [
    "Calibration",
    "Case",
    "Catalogue",
    "Cell",
    "Comparison",
    "GradedQuery",
    "IndexingComparison",
    "Run",
    "Searcher",
    "Sweep",
    "answered",
    "calibrate_min_score",
    "compare",
    "compare_indexings",
    "corpus_signature",
    "distractor_robustness_curve",
    "evaluate_discovery",
    "evaluate_selection",
    "floor_of",
    "generate_abstentions",
    "generate_cases",
    "graded_ndcg",
    "load_cases",
    "outcome",
    "parse_cases",
    "plain_bm25",
    "report",
    "save_cases",
    "sweep_selector",
    "validate_cases",
]
