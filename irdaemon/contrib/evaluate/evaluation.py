"""Evaluate the corpora of a snapshot by labelled cases."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irdaemon.contrib.evaluate.cases import Catalogue, corpus_signature
from irdaemon.contrib.evaluate.choice import Grid
from irdaemon.contrib.evaluate.curve import curve_of_ranks, rank_by_bm25
from irdaemon.contrib.evaluate.ranking import Run, Searcher, evaluate_discovery
from irdaemon.contrib.evaluate.report import Evaluating, compare, report
from irdaemon.discovery.cases import Case
from irdaemon.discovery.query import find_indexes, parse_query
from irdaemon.engine import Engine
from irdaemon.engine.state import State
from irdaemon.index import CorpusIndex
from irdaemon.types import Query

# The gold is looked for so far down when asked how many stand before it.
_DEEP = 1_000
_TOLD_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What an evaluation has beside the measures: the `baseline` plain BM25, the `curve`.

    `grid` is what the sweep tries.
    """

    baseline: bool = False
    curve: bool = False
    grid: Grid = field(default_factory=Grid)


def evaluate_corpora(
    engine: Engine,
    cases: Sequence[Case],
    query: Query,
    wanted: EvaluationRequest = EvaluationRequest(),
) -> dict[str, Any]:
    """Ask every case, shaped as `query` is, and return how good the answers are.

    What it returns is the plain data of an Evaluation of irclient. An event `evaluation` tells how
    many cases of all were asked, a few times a second.
    """
    state = engine.state
    parse_query(replace(query, text="any"))
    snapshot = state.snapshot
    indexes = find_indexes(snapshot, query.corpora)
    catalogue = Catalogue.from_indexes(indexes)
    asked = Evaluating(cases, query, wanted.grid, _make_progress(state, len(cases)))
    measured, runs = report(engine, asked, catalogue)
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


def _make_progress(state: State, todo: int) -> Callable[[int], None]:
    """Return what reports progress, a few times a second and at the end."""
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
    """Return how often the gold is expected to be first, by size of the catalogue."""
    n = sum(index.rows.n_artifacts for index in indexes)
    deep = replace(query, k=min(_DEEP, max(n, 1)))
    ranks = [
        replace(run, hits=searcher.search(replace(deep, text=run.case.query)).results).rank
        for run in runs
        if run.case.gold
    ]
    return [{"size": size, "first": share} for size, share in curve_of_ranks(ranks, n).items()]
