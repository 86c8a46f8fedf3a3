"""Floors: how sure one must be before anything of a corpus is committed.

How high the best cosine and the best BM25 score of an unanswerable query come differs from corpus
to corpus, and BM25 grows with the query. So each best score is expressed in deviations from what
unanswerable queries of that mass reach in that corpus, and a logistic of the two is the confidence
that the corpus has an answer. The weights were fitted on four labelled sets, each time leaving out
the one that was measured (docs/retrieval.md); nothing of a corpus' own labels is in them. What is
usual in a corpus is found out by `calibration`, which also sets the floor on the confidence.

Mass is the sum of the idf of a query's distinct tokens, as its natural logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# What makes a floor of one version useless to another: the formulas here and in `retrieve`.
FORMULA = 1
# Below this separability (Youden's J) a floor is kept and shown, but not applied by itself.
TRUSTED_J = 0.5
# Where a corpus has no floor to trust, evidence below this is no answer: over 100 seeded corpora of
# one to seven artifacts of each of five labelled sets, 80% of the queries with an answer in them
# reach it, 13% of those without (J 0.67).
PLAIN = 0.2
# A floor is stale when more than this share of the artifacts came or went since.
DRIFT = 0.2


@dataclass(frozen=True, slots=True)
class Usual:
    """The best score that unanswerable queries reach: a line over their mass, and the spread."""

    level: float
    slope: float
    spread: float

    def deviations(self, score: float, mass: float) -> float:
        """Return how far a score lies above what is usual."""
        return (score - self.level - self.slope * mass) / self.spread


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
# A reranker's best score stands where the cosine does, and nothing beside it.
_RERANKED = (1.4, 0.0, -1.3)


def reranked_mode(mode: str) -> str:
    """Return under which mode floors for reranked answers are kept."""
    return f"{mode}+rerank"


@dataclass(frozen=True, slots=True)
class Floor:
    """A calibrated floor: for which corpus and how searched, on what grounds, and how good.

    `at_least` is the least confidence (0 to 1) at which something is committed; `j` is Youden's J
    there, over `n_inside` answerable and `n_outside` unanswerable queries, labelled ones if
    `labelled`; `labels` is the digest of the file of labelled queries that there was, "" for none.
    `artifacts` and `last` (a ledger row) tell which artifacts there were.
    """

    mode: str
    embedder: str
    recipe: str
    dense: Usual
    lexical: Usual
    at_least: float
    j: float
    n_inside: int
    n_outside: int
    calibrated_at: float
    artifacts: int
    last: int
    labelled: bool = False
    labels: str = ""
    formula: int = FORMULA

    @property
    def trusted(self) -> bool:
        """Say whether it separates well enough to be applied without being asked for."""
        return self.j >= TRUSTED_J

    def confidence(self, found: Strength) -> float:
        """Return the confidence, 0 to 1, that the corpus answers a query that found this."""
        return _logistic(
            found.trust * self._weighed(self.mode, found)
            + (1 - found.trust) * self._weighed("lexical", found)
        )

    def _weighed(self, mode: str, found: Strength) -> float:
        dense, lexical, constant = _WEIGHTS.get(mode, _RERANKED)
        return (
            dense * self.dense.deviations(found.cosine, found.mass)
            + lexical * self.lexical.deviations(found.words, found.mass)
            + constant
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Floor:
        """Build a floor from what `to_dict` gave."""
        usual = {leg: Usual(**data[leg]) for leg in ("dense", "lexical")}
        return cls(**{**data, **usual})


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))
