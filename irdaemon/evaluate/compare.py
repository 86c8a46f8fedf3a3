"""Comparison: is one run better than another, or is it luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irdaemon.evaluate.measures import MEASURES
from irdaemon.evaluate.runs import PRIMARY_K, Run

_SHUFFLES = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference in a measure, and the two-sided p of a paired randomisation test."""

    difference: float
    p: float
    n: int


def compare(
    one: Sequence[Run], other: Sequence[Run], measure: str = "ndcg", k: int = PRIMARY_K
) -> Comparison:
    """Compare two runs over the same cases (Smucker, Allan and Carterette 2007); seeded."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a.case.gold]
    score = MEASURES[measure]
    differences = np.array(
        [score(a.ranked, a.case.gold, k) - score(b.ranked, b.case.gold, k) for a, b in pairs]
    )
    if not len(differences):
        return Comparison(0.0, 1.0, 0)
    signs = np.random.default_rng(0).choice((-1, 1), (_SHUFFLES, len(differences)))
    by_luck = np.abs((signs * differences).mean(axis=1))
    extreme = int((by_luck >= abs(differences.mean()) - 1e-12).sum())
    return Comparison(float(differences.mean()), (extreme + 1) / (_SHUFFLES + 1), len(differences))
