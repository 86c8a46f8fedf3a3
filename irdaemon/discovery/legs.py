"""The two legs: a corpus' records scored by vectors and by words, and the evidence of both.

Filters come first, so a filter never costs a match. The candidates are the records near the top of
either leg; each is scored by both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.here import Here
from irdaemon.discovery.where import NO_FILTER, Filter
from irdaemon.index import CorpusIndex
from irdaemon.index.dense import find_top
from irdaemon.runtime.profile import stage
from irdaemon.types import Tuning

# Evidence: the magnitude on which selection commits or abstains, from 0 to 1.
#
# `0.5 * cosine + 0.5 * b / (b + 8)` of BM25 score b (`ir`'s blend, Elastic-style saturation). It
# was the best or second best separator of answerable from unanswerable queries on every set tried.

Scores = NDArray[np.float32]

SATURATION = 8.0


def compute_evidence(mode: str, trust: float, cosine: Scores, bm25: Scores) -> Scores:
    """Return the evidence of candidates in a mode: a leg that takes no part does not count.

    If the embedder knows little of the query (`trust`, 0 to 1) the words count for more.
    """
    if mode == "dense":
        return np.clip(cosine, 0, 1)
    dense = 0.0 if mode == "lexical" else 0.5 * trust
    saturated: Scores = bm25 / (bm25 + SATURATION)
    weighed: Scores = dense * np.minimum(np.maximum(cosine, 0), 1) + (1 - dense) * saturated
    return weighed


UNTUNED = Tuning()


class Words(NamedTuple):
    """A searched text and its words, each once, not yet mapped to a vocabulary.

    `ranked` are the words by which records are ranked: its tokens, then its words that are not
    tokens.
    """

    text: str
    tokens: tuple[str, ...] = ()
    ranked: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()


NO_WORDS = Words("")


@dataclass(frozen=True, slots=True)
class Question:
    """A query in the terms of one index.

    `terms` are the ids of its known tokens, each once, `unstemmed` those of words that are known in
    addition to their tokens; `unknown` counts the unknown tokens. `identifiers` are the terms of
    words written like names in code, `typed` those of records that contain its plain words as
    typed. `vector` is None when no dense leg takes part; `trust` (0 to 1) is how much of the query
    its embedder knows, `coding` how near it is to an ordinary programming task. `weights` multiply
    the fused score of surfaces, by kind; `tuning` has the parameters of the fusions. `passages` is
    how many records of one artifact may be candidates; with `exact` every record that the filter
    lets through is a candidate. `words` are all of its words, to be mapped to another vocabulary.
    `here` is where it comes from, or None.
    """

    text: str
    terms: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = None
    mode: str = "hybrid"
    k: int = 10
    filter: Filter = NO_FILTER
    surfaces: frozenset[str] = frozenset()
    fusion: str = "standard"
    weights: Mapping[str, float] = field(default_factory=dict)
    trust: float = 1.0
    coding: float = 0.0
    unknown: int = 0
    identifiers: tuple[int, ...] = ()
    unstemmed: tuple[int, ...] = ()
    typed: tuple[int, ...] = ()
    tuning: Tuning = UNTUNED
    passages: int = 1
    exact: bool = False
    words: Words = NO_WORDS
    here: Here | None = None


Positions = NDArray[np.int64]

# The size of a ranking's top that describes what is usual for this query.
TOP = 100
# The most candidates among records that contain a literal, besides those near the top of a leg.
_MOST_EXACT = 10_000
# From this share of the records on, scoring all costs less than gathering the wanted ones.
_MOST = 0.25


@dataclass(frozen=True, slots=True)
class Legs:
    """Candidate records by position, ascending, and their scores in each leg.

    `cosine` and `bm25` are raw scores; `dense_top` and `lexical_top` the best scores of each whole
    ranking, ascending, at most TOP; `nearest` and `matching` are the positions that each leg
    returned; `covered` is the share of the artifact's name, or its symbol's, that the query covers.
    `named` are the artifacts (by position) that the query calls by name; `waiting` is for each
    candidate whether it has no vector yet, None if all have one.
    """

    positions: Positions
    cosine: Scores
    bm25: Scores
    dense_top: Scores
    lexical_top: Scores
    nearest: Positions
    matching: Positions
    covered: Scores
    named: frozenset[int] = frozenset()
    waiting: NDArray[np.bool_] | None = None

    @property
    def near(self) -> NDArray[np.bool_]:
        """Return which candidates the dense leg returned."""
        return np.isin(self.positions, self.nearest)

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Return which candidates the lexical leg returned."""
        return np.isin(self.positions, self.matching)

    @property
    def best_cosine(self) -> float:
        """Return the highest cosine of any record, 0 without a dense leg."""
        return float(self.dense_top[-1]) if len(self.dense_top) else 0.0

    @property
    def best_bm25(self) -> float:
        """Return the highest BM25 score of any record."""
        return float(self.lexical_top[-1]) if len(self.lexical_top) else 0.0


def score_legs(
    index: CorpusIndex, question: Question, mask: NDArray[np.bool_] | None, named: list[int]
) -> Legs:
    """Score the records that `mask` lets through (None: all) by both legs."""
    depth = choose_depth(question)
    fetched = question.tuning.fetch_k or depth
    terms = question.terms if question.mode != "dense" else ()
    with stage("lexical"):
        if question.mode == "dense":
            bm25 = np.zeros(len(index.rows.present), np.float32)
        else:
            words, tuning = (*terms, *question.unstemmed), question.tuning
            bm25 = index.lexical.score_all(words, tuning.k1, tuning.b)
        if mask is not None:
            bm25 = np.where(mask, bm25, 0)
        matching = find_top(bm25, depth, above=0)
        lexical_top = np.sort(bm25[matching])[-TOP:]
        if fetched < depth:  # the usual scores need more records than the leg returns
            matching = matching[find_top(bm25[matching], fetched)]
    with stage("dense"):
        nearest, cosine = _find_nearest(index, question, mask, depth)
        dense_top = np.sort(cosine)[-TOP:]
        if fetched < depth:
            nearest = nearest[find_top(cosine, fetched)]
    positions = _unite_positions(nearest, matching)
    if question.exact and mask is not None:
        positions = _unite_positions(positions, np.flatnonzero(mask)[:_MOST_EXACT])
    if named:
        theirs = np.concatenate([np.array(index.rows.find_records(owner)) for owner in named])
        there = index.rows.present if mask is None else index.rows.present & mask
        positions = np.union1d(positions, theirs[there[theirs]])
    waiting = ~index.rows.embedded[positions]
    cosine = np.zeros(len(positions), np.float32)
    if question.vector is not None:
        cosine = index.dense.score_at(question.vector, positions)
    return Legs(
        positions=positions,
        cosine=cosine,
        bm25=bm25[positions],
        dense_top=dense_top,
        lexical_top=lexical_top,
        nearest=nearest,
        matching=matching,
        covered=index.names.measure_coverage(terms, positions),
        named=frozenset(named),
        waiting=waiting if waiting.any() else None,
    )


def choose_depth(question: Question) -> int:
    """Return how many records of each leg a question looks at."""
    return max(TOP, 5 * question.k, question.tuning.fetch_k or 0)


def _find_nearest(
    index: CorpusIndex, question: Question, mask: NDArray[np.bool_] | None, depth: int
) -> tuple[Positions, Scores]:
    """Return the positions of the nearest `depth` records, and of ties, and their cosines."""
    if question.vector is None:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if mask is None:
        return index.dense.nearest(question.vector, depth)
    near = np.flatnonzero(mask & index.rows.embedded)
    if len(near) > _MOST * len(index.rows.present):
        cosine = index.dense.scores(question.vector)[near]
    else:
        cosine = index.dense.score_at(question.vector, near)
    best = find_top(cosine, depth)
    return near[best], cosine[best]


def _unite_positions(one: Positions, other: Positions) -> Positions:
    """Return the positions in either, ascending; numpy's own takes ten times as long for a few."""
    both = np.concatenate([one, other])
    both.sort()
    return both[np.concatenate([[True], both[1:] != both[:-1]])] if len(both) else both
