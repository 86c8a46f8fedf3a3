"""Floors: the least confidence at which anything of a corpus is committed.

How high the best cosine and the best BM25 score of an unanswerable query come differs from corpus
to corpus, and BM25 grows with the query. So each best score is expressed in deviations from what
unanswerable queries of that mass reach in that corpus, and a logistic of the two is the confidence
that the corpus has an answer. The weights were fitted on four labelled sets, each time leaving out
the one that was measured (docs/retrieval.md); nothing of a corpus' own labels is in them. What is
usual in a corpus is measured by `calibrate`, which also sets the floor on the confidence.

Mass is the sum of the idf of a query's distinct tokens, as its natural logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from irdaemon.types import Floor, Usual

# What makes a floor of one version useless to another: the formulas here and in `retrieve`.
FORMULA = 2
# Below this separability (Youden's J) a floor is kept and shown, but not applied by itself.
TRUSTED_J = 0.5
# Where a corpus has no floor to trust, evidence below this is no answer: over 100 seeded corpora of
# one to seven artifacts of each of five labelled sets, 80% of the queries with an answer in them
# reach it, 13% of those without (J 0.67).
PLAIN = 0.2


@dataclass(frozen=True, slots=True)
class Strength:
    """What a query finds at best in a corpus, and the query's mass and trust (see Question)."""

    cosine: float
    bm25: float
    mass: float
    trust: float = 1.0

    @property
    def words(self) -> float:
        """Return the BM25 score on the scale on which it is compared."""
        return math.log(self.bm25 + 2)


# Weights of the dense and the lexical deviations, and the constant, by mode.
_WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    "hybrid": (1.0, 1.4, -2.0),
    "dense": (1.4, 0.0, -1.3),
    "lexical": (0.0, 2.0, -1.5),
}
# What cosines add to the order of candidates of several corpora, in deviations.
_DENSE_SHARE, _DENSE_COUNTS_UP_TO = 0.4, 2.0
# A reranker's best score stands where the cosine does, and nothing beside it.
_RERANKED = (1.4, 0.0, -1.3)


def of_this_formula(floors: Mapping[str, Floor]) -> dict[str, Floor]:
    """Return the floors that the formulas of this version can use, by mode."""
    return {
        mode: floor
        for mode, floor in floors.items()
        if floor.formula == FORMULA and floor.mode == mode
    }


def reranked_mode(mode: str, reread_by: str) -> str:
    """Return under which mode floors are kept for answers that were read again by what is named."""
    return f"{mode}+rerank:{reread_by}"


def trusted(floor: Floor) -> bool:
    """Return whether a floor separates well enough to be applied without being asked for."""
    return floor.j >= TRUSTED_J


def confidence_of(floor: Floor, found: Strength) -> float:
    """Return the confidence, 0 to 1, that a corpus answers a query that found this there."""
    return _logistic(
        found.trust * _weighed(floor, floor.mode, found)
        + (1 - found.trust) * _weighed(floor, "lexical", found)
    )


def distinction(floor: Floor, found: Strength) -> float:
    """Return how far what a query found lies above what is usual there, by words first.

    Cosines of long queries lie above the usual in every corpus of long texts, so they add little.
    """
    dense = min(_deviations(floor.dense, found.cosine, found.mass), _DENSE_COUNTS_UP_TO)
    return _deviations(floor.lexical, found.words, found.mass) + _DENSE_SHARE * found.trust * dense


def _weighed(floor: Floor, mode: str, found: Strength) -> float:
    dense, lexical, constant = _WEIGHTS.get(mode, _RERANKED)
    return (
        dense * _deviations(floor.dense, found.cosine, found.mass)
        + lexical * _deviations(floor.lexical, found.words, found.mass)
        + constant
    )


def _deviations(usual: Usual, score: float, mass: float) -> float:
    """Return how far a score lies above what is usual."""
    return (score - usual.level - usual.slope * mass) / usual.spread


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))
