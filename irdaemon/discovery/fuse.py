"""Fusion: the legs' scores become one order. A fused number orders; it is never evidence.

`standard` is the default. The others are selected by name: `rrf`, `blend` (as in `ir`), `alpha`
(Agent Library's weighted mean with a bonus for being found by both), `mmr` (maximal marginal
relevance: Carbonell and Goldstein 1998), and `alpha+mmr` (first one, then the other).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.legs import UNTUNED, Legs, Question, Scores, compute_evidence
from irdaemon.index import CorpusIndex

NAME_WEIGHT = 7.0
# The weight of a record that contains the words of a short query as typed, not only their stems.
_FORM_WEIGHT, _FEW_WORDS = 15.0, 8
# A lexical ranking is padded with zeros, for records that do not match, to at least this size.
FEWEST_MATCHES = 50
RRF_K = UNTUNED.rrf_k
OVERLAP_BONUS = 0.05
_MMR_DEPTH = 5


def fuse_legs(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Return the score by which candidates are ordered, surface weights included."""
    scores = FUSIONS[question.fusion](index, question, legs)
    if not question.weights or not len(scores):
        return scores
    kinds = [index.rows.get_kind(position) for position in legs.positions]
    weights = np.array([question.weights.get(kind, 1.0) for kind in kinds], np.float32)
    # Fused scores may be negative, so a weight multiplies their distance from the worst, which
    # counts half of the best: if it counted zero, no weight could lift it.
    spread = float(scores.max() - scores.min())
    weighted: Scores = (scores - scores.min() + (spread or 1.0)) * weights
    return weighted


def fuse_standard(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Add both rankings in deviations from their own top, the better once more, and the name.

    Deviations keep relative magnitude, which ranks lose. An item that one ranking lifts far above
    its usual top is seldom wrong, wherever the other puts it. A name covered by the query's words
    is the strongest hint short of calling it. The dense ranking counts only as far as the embedder
    knows the query's words. Records with the few words of a short query as typed come before those
    with their stems. docs/retrieval.md has the figures.
    """
    lexical = standardise(legs.bm25, legs.lexical_top, FEWEST_MATCHES)
    dense = question.trust * standardise(legs.cosine, legs.dense_top)
    if legs.waiting is not None:  # a record without a vector is not necessarily far from the query
        dense[legs.waiting] = 0
    scores: Scores = lexical + dense + np.maximum(lexical, dense) + NAME_WEIGHT * legs.covered
    few = len(question.terms) + question.unknown <= _FEW_WORDS
    if question.typed and few and question.mode != "dense":
        scores += _FORM_WEIGHT * _share_typed(index, question, legs) ** 2
    return scores


def _share_typed(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Return the share of the query's words, by idf, that each candidate contains as typed."""
    lexical, typed = index.lexical, question.typed
    held = np.zeros(len(legs.positions), np.float32)
    # In the records' own type: otherwise all of these would be copied to the wider one.
    positions = legs.positions.astype(np.int32)
    for term, weight in zip(typed, lexical.compute_idf(np.array(typed, np.int64)), strict=True):
        for records in filter(len, lexical.find_holders(term)):
            # Both ascend, and `isin` takes five times as long.
            places = records.searchsorted(positions)
            held += weight * (records.take(places, mode="clip") == positions)
    whole = lexical.sum_idf(question.terms, question.unknown)
    return np.minimum(held / whole, 1) if whole else held


def standardise(scores: Scores, top: Scores, fewest: int = 1) -> Scores:
    """Express scores in deviations from the mean of a ranking's own top.

    A top shorter than `fewest` is padded with zeros, so that a word in few records lifts them far
    above the rest. A top of equal scores says nothing and gives zeros.
    """
    if not len(top):
        return np.zeros_like(scores)
    n = max(len(top), fewest)
    mean = top.sum() / n
    apart = top - mean
    spread = math.sqrt((float(apart @ apart) + (n - len(top)) * float(mean) ** 2) / n)
    if spread < 1e-6:
        return np.zeros_like(scores)
    standardised: Scores = (scores - mean) / np.float32(spread)
    return standardised


def fuse_by_rank(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Add 1 / (rrf_k + rank) over the legs that returned a candidate (Cormack et al. 2009)."""
    rrf_k = question.tuning.rrf_k
    dense = _invert_ranks(legs.cosine, legs.near, rrf_k)
    return dense + _invert_ranks(legs.bm25, legs.matched, rrf_k)


def _invert_ranks(scores: Scores, ranked: NDArray[np.bool_], rrf_k: float) -> Scores:
    given = np.zeros(len(scores), np.float32)
    order = np.argsort(-scores[ranked], kind="stable")
    given[np.flatnonzero(ranked)[order]] = 1 / (rrf_k + 1 + np.arange(len(order)))
    return given


def fuse_blend(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Return `0.5 * cosine + 0.5 * b / (b + 8)`: the evidence itself."""
    return compute_evidence("hybrid", 1.0, legs.cosine, legs.bm25)


def fuse_alpha(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Mix the cosine, with weight `alpha`, and the score's share of the best BM25.

    Candidates of both legs get 5% more, at most 1. If only one leg takes part its score stands
    alone.
    """
    keyword = legs.bm25 / max(legs.best_bm25, 1e-9)
    if question.vector is None or question.mode == "dense":
        return keyword if question.vector is None else legs.cosine
    share = question.tuning.alpha
    mean = share * legs.cosine + (1 - share) * keyword
    both = legs.near & legs.matched
    scores: Scores = np.minimum(mean * np.where(both, 1 + OVERLAP_BONUS, 1), 1).astype(np.float32)
    return scores


def fuse_mmr(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Take candidates by their evidence, preferring dissimilar ones; see `_order_unlike`."""
    return _order_unlike(fuse_blend(index, question, legs), index, question, legs)


def fuse_alpha_mmr(index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Take candidates by the score of `alpha`, preferring dissimilar ones; see `_order_unlike`."""
    return _order_unlike(fuse_alpha(index, question, legs), index, question, legs)


def _order_unlike(relevance: Scores, index: CorpusIndex, question: Question, legs: Legs) -> Scores:
    """Take candidates one by one by `mmr_lambda` * relevance - (1 - `mmr_lambda`) * similarity.

    The similarity is the highest to a candidate already taken. Candidates beyond the first 5 * k by
    relevance follow in that order.
    """
    share = question.tuning.mmr_lambda
    first = np.argsort(-relevance, kind="stable")[: _MMR_DEPTH * question.k]
    vectors = index.rows.vectors.take(legs.positions[first])
    likeness = np.zeros(len(first), np.float32)
    waiting = np.ones(len(first), np.bool_)
    scores = relevance - 2  # below all candidates already taken
    for _ in first:
        gain = share * relevance[first] - (1 - share) * likeness
        taken = int(np.argmax(np.where(waiting, gain, -np.inf)))
        waiting[taken] = False
        scores[first[taken]] = gain[taken]
        likeness = np.maximum(likeness, vectors @ vectors[taken])
    return scores


FUSIONS: Mapping[str, Callable[[CorpusIndex, Question, Legs], Scores]] = {
    "standard": fuse_standard,
    "rrf": fuse_by_rank,
    "blend": fuse_blend,
    "alpha": fuse_alpha,
    "mmr": fuse_mmr,
    "alpha+mmr": fuse_alpha_mmr,
}
