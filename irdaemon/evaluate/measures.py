"""Measures of one ranking against its gold, each from 0 to 1, as TREC defines them.

`ranked` are ids, best first, each once; `gold` the relevant ones, never empty: ids, or ids with
grades above 0. Only `ndcg` counts grades; to the others what has one is relevant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

Gold = Collection[str] | Mapping[str, float]
Measure = Callable[[Sequence[str], Gold, int], float]


def ndcg(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return normalised discounted cumulative gain: gain is the grade, discount log2(rank + 1)."""
    grades = gold if isinstance(gold, Mapping) else dict.fromkeys(gold, 1.0)
    ideal = sorted(grades.values(), reverse=True)
    return _discounted(grades.get(each, 0.0) for each in ranked[:k]) / _discounted(ideal[:k])


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(at + 2) for at, gain in enumerate(gains))


def recall(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the share of the gold among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(gold)


def completeness(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return 1 where all the gold is among the first k, else 0."""
    return float(set(gold) <= set(ranked[:k]))


def precision(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the share of gold in k places, empty ones included."""
    return len(set(ranked[:k]) & set(gold)) / k


def reciprocal_rank(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return 1 / the rank of the first gold among the first k, else 0."""
    return next((1 / (at + 1) for at, each in enumerate(ranked[:k]) if each in gold), 0.0)


def average_precision(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Return the mean, over all the gold, of the precision at each rank where one is found.

    Gold that lies beyond the first k counts as not found, as in trec_eval's map_cut.
    """
    found, total = 0, 0.0
    for at, each in enumerate(ranked[:k], start=1):
        if each in gold:
            found += 1
            total += found / at
    return total / len(gold)


MEASURES: Mapping[str, Measure] = {
    "ndcg": ndcg,
    "recall": recall,
    "completeness": completeness,
    "precision": precision,
    "mrr": reciprocal_rank,
    "map": average_precision,
}


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
