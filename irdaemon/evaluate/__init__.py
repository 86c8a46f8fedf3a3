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
    query_id,
    save_cases,
    validate_cases,
)
from irdaemon.evaluate.choice import SelectionReport, evaluate_selection
from irdaemon.evaluate.compare import Comparison, compare, compare_values
from irdaemon.evaluate.curve import curve_of_ranks, distractor_robustness_curve
from irdaemon.evaluate.generate import (
    CaseMaking,
    build_eval_set,
    generate_abstentions,
    generate_cases,
)
from irdaemon.evaluate.gold import Catalogue
from irdaemon.evaluate.graded import (
    GradedMeasures,
    GradedQuery,
    IndexingComparison,
    RankHits,
    compare_indexings,
    graded_ndcg,
)
from irdaemon.evaluate.graded_cases import (
    GradedCase,
    graded_queries,
    graded_query,
    level_histogram,
    load_graded_cases,
    read_graded_meta,
    save_graded_cases,
)
from irdaemon.evaluate.ranking import DiscoveryReport, evaluate_discovery, outcome
from irdaemon.evaluate.report import Evaluating, report
from irdaemon.evaluate.runs import Run, Searcher, answered, drift_of
from irdaemon.evaluate.sweep import Cell, Grid, Sweep, sweep_selector
from irdaemon.evaluate.trec import (
    cases_of,
    read_qrels,
    read_run,
    runs_of,
    write_qrels,
    write_run,
)

__all__ = [
    "Calibration",
    "Case",
    "CaseMaking",
    "Catalogue",
    "Cell",
    "Comparison",
    "DiscoveryReport",
    "Evaluating",
    "GradedCase",
    "GradedMeasures",
    "GradedQuery",
    "Grid",
    "IndexingComparison",
    "RankHits",
    "Run",
    "Searcher",
    "SelectionReport",
    "Sweep",
    "answered",
    "build_eval_set",
    "calibrate_min_score",
    "cases_of",
    "compare",
    "compare_indexings",
    "compare_values",
    "corpus_signature",
    "curve_of_ranks",
    "distractor_robustness_curve",
    "drift_of",
    "evaluate_discovery",
    "evaluate_selection",
    "floor_of",
    "generate_abstentions",
    "generate_cases",
    "graded_ndcg",
    "graded_queries",
    "graded_query",
    "level_histogram",
    "load_cases",
    "load_graded_cases",
    "outcome",
    "parse_cases",
    "plain_bm25",
    "query_id",
    "read_graded_meta",
    "read_qrels",
    "read_run",
    "report",
    "runs_of",
    "save_cases",
    "save_graded_cases",
    "sweep_selector",
    "validate_cases",
    "write_qrels",
    "write_run",
]
