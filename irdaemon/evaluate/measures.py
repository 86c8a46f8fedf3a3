"""Measures of one ranking against its gold, each from 0 to 1, as TREC defines them.

`ranked` are ids, best first, each once; `gold` the relevant ones, never empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

Measure = Callable[[Sequence[str], Collection[str], int], float]


def ndcg(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return normalised discounted cumulative gain: gain 1, discount log2(rank + 1)."""
    gain = sum(1 / math.log2(at + 2) for at, each in enumerate(ranked[:k]) if each in gold)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(len(gold), k)))


def recall(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of the gold among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(gold)


def precision(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of gold in k places, empty ones included."""
    return len(set(ranked[:k]) & set(gold)) / k


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 / the rank of the first gold among the first k, else 0."""
    return next((1 / (at + 1) for at, each in enumerate(ranked[:k]) if each in gold), 0.0)


def average_precision(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
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
    "precision": precision,
    "mrr": reciprocal_rank,
    "map": average_precision,
}


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
