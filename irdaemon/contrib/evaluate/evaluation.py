"""Evaluate the corpora of a snapshot on labelled cases."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.contrib.evaluate.cases import Catalogue, corpus_signature, query_id
from irdaemon.contrib.evaluate.choice import (
    Grid,
    calibrate_min_score,
    evaluate_selection,
    sweep_selector,
)
from irdaemon.contrib.evaluate.curve import curve_of_ranks, rank_by_bm25
from irdaemon.contrib.evaluate.ranking import (
    METRICS,
    PRIMARY_K,
    Run,
    Searcher,
    ask_cases,
    evaluate_discovery,
    list_drift,
    measure_run,
    outcome,
)
from irdaemon.contrib.evaluate.report import compare
from irdaemon.discovery.cases import Case
from irdaemon.discovery.query import find_indexes, parse_query
from irdaemon.engine import Engine
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex
from irdaemon.types import Query

# How many places are searched for the gold to count the artifacts before it.
_DEEP = 1_000
_TOLD_EVERY_S = 0.2
_DRIFT_SHOWN = 20
_RANKED_SHOWN = 10
_CHARS_SHOWN = 500


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The optional parts of an evaluation: the BM25 `baseline`, the `curve`, the sweep's `grid`."""

    baseline: bool = False
    curve: bool = False
    grid: Grid = field(default_factory=Grid)


def evaluate_corpora(
    engine: Engine,
    cases: Sequence[Case],
    query: Query,
    wanted: EvaluationRequest = EvaluationRequest(),
) -> dict[str, Any]:
    """Ask every case, shaped like `query`, and measure the answers.

    Returns the plain data of irclient's Evaluation. An event `evaluation` reports how many of the
    cases were asked, a few times a second.
    """
    state = engine.state
    parse_query(replace(query, text="any"))
    snapshot = state.snapshot
    indexes = find_indexes(snapshot, query.corpora)
    catalogue = Catalogue.from_indexes(indexes)
    wanted.grid.specs  # noqa: B018 - a grid that cannot be is refused before anything is asked
    runs = ask_cases(engine, cases, query, _make_progress(state, len(cases)), catalogue)
    measured = _measure(runs, query, wanted.grid)
    measured |= {
        "corpora": [index.corpus for index in indexes],
        "asked": {"k": query.k, "mode": query.mode, "max_k": query.select.max_k},
        "artifacts": len(catalogue.ids),
        "signature": corpus_signature(catalogue.ids),
        "generation": snapshot.generation,
        "at": state.clock(),
    }
    if wanted.baseline:
        plain = rank_by_bm25(indexes, snapshot.vocabulary, [run.case for run in runs])
        measured["baseline"] = evaluate_discovery(plain).measures
        measured["compared"] = compare(runs, plain).to_dict()
        del measured["compared"]["drift"]  # which is reported once
    if wanted.curve:
        measured["curve"] = _draw_curve(engine, runs, indexes, query)
    return measured


def _measure(runs: Sequence[Run], query: Query, grid: Grid) -> dict[str, Any]:
    """Return discovery, selection, sweep, floor, drift and every case, as plain data."""
    floor = calibrate_min_score(runs)
    given = query.select.min_score
    threshold = given if isinstance(given, float) else floor.floor
    found = evaluate_discovery(runs, abstain_threshold=threshold).to_dict()
    del found["per_query"]  # the cases have it
    chosen, told_floor = evaluate_selection(runs).to_dict(), floor.to_dict()
    del told_floor["grid"]  # which is as long as the list of cases
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
    }


def _describe_run(run: Run, number: int, threshold: float | None) -> dict[str, Any]:
    """Return the outcome of one case, as plain data."""
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


def _make_progress(state: State, todo: int) -> Callable[[int], None]:
    """Return a function that reports progress, a few times a second and at the end."""
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if done == todo or time.monotonic() - last >= _TOLD_EVERY_S:
            last = time.monotonic()
            state.notify("evaluation", {"done": done, "todo": todo})

    return tell


def _draw_curve(
    searcher: Searcher, runs: Sequence[Run], indexes: Sequence[CorpusIndex], query: Query
) -> list[dict[str, float]]:
    """Return the expected share of cases with the gold first, by catalogue size."""
    n = sum(index.rows.n_artifacts for index in indexes)
    deep = replace(query, k=min(_DEEP, max(n, 1)))
    ranks = [
        replace(run, hits=searcher.search(replace(deep, text=run.case.query)).results).rank
        for run in runs
        if run.case.gold
    ]
    return [{"size": size, "first": share} for size, share in curve_of_ranks(ranks, n).items()]
