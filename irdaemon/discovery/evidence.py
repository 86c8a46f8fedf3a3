"""Evidence: the magnitude on which selection commits or abstains, from 0 to 1.

`0.5 * cosine + 0.5 * b / (b + 8)` of BM25 score b (`ir`'s blend, Elastic-style saturation). It was
the best or second best separator of answerable from unanswerable queries on every set tried.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

SATURATION = 8.0


def saturated(bm25: Scores) -> Scores:
    """Map BM25 scores from [0, inf) to [0, 1): half at 8."""
    share: Scores = bm25 / (bm25 + SATURATION)
    return share


def blended(cosine: Scores, bm25: Scores) -> Scores:
    """Return the mean of the cosine and the saturated BM25 score."""
    both: Scores = 0.5 * np.clip(cosine, 0, 1) + 0.5 * saturated(bm25)
    return both


def evidence(mode: str, trust: float, cosine: Scores, bm25: Scores) -> Scores:
    """Return the evidence of candidates in a mode: a leg that takes no part does not count.

    Where the embedder knows little of the query (`trust`, 0 to 1) the words count for more.
    """
    if mode == "dense":
        return np.clip(cosine, 0, 1)
    dense = 0.0 if mode == "lexical" else 0.5 * trust
    weighed: Scores = dense * np.clip(cosine, 0, 1) + (1 - dense) * saturated(bm25)
    return weighed
