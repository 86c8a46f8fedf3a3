"""Merge: the rankings of several corpora become one order.

By confidence, which compares what is unusual for each corpus; or, where a program asks for it, by
reciprocal ranks, by evidence, or by a function of its own. Whatever the order, the score of a hit
stays its evidence, and none exceeds one before it: a fused number orders, and is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from numbers import Real
from typing import Any

from irclient.errors import QueryError
from irdaemon.discovery.decide import AUTO, CorpusRanking, Selector
from irdaemon.discovery.rerank import ScoreBoost
from irdaemon.discovery.retrieve import RRF_K, Candidate
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit

MERGES = ("confidence", "rrf", "score")
_WEIGHTED = ("rrf", "score")

# Takes the hits above their floors by corpus, best first, and returns those that go on, in order.
MergeHits = Callable[[Mapping[str, Sequence[Hit]]], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """How to choose among what was retrieved, as far as a query cannot say it.

    `selector` takes the place of the query's strategy. `merge` is how the corpora's rankings become
    one; `weights` (by corpus, 1 where there is none) and `rrf_k` belong to `rrf` and `score`.
    `floors` are floors on evidence by corpus, None for none, in place of the query's. `boost` adds
    to the scores of candidates. `session` is the id of the one that asks: it gets no turn of its
    own.
    """

    selector: Selector | None = None
    merge: str | MergeHits = "confidence"
    weights: Mapping[str, float] = field(default_factory=dict)
    rrf_k: float = RRF_K
    floors: Mapping[str, float | str | None] = field(default_factory=dict)
    boost: ScoreBoost | None = None
    session: str = ""


DEFAULT_OPTIONS = SelectionOptions()


def check_options(choosing: SelectionOptions, corpora: Collection[str]) -> None:
    """Raise QueryError for what cannot be followed, or names a corpus that is not asked."""
    merge = choosing.merge
    if not callable(merge) and merge not in MERGES:
        near = did_you_mean(merge, MERGES) if isinstance(merge, str) else ""
        raise QueryError(
            f"unknown merge {merge!r}{near}",
            f"merges: {', '.join(MERGES)}, or a function {{corpus: hits}} -> hits",
        )
    if choosing.weights and merge not in _WEIGHTED:
        raise QueryError("merge_weights need a merge by rank or score", 'add merge="rrf"')
    for corpus in choosing.weights:
        _check_name("merge_weights", corpus, corpora)
    check_weights(choosing.weights)
    for corpus, floor in choosing.floors.items():
        _check_name("min_score", corpus, corpora)
        if floor not in (None, AUTO) and not is_share(floor):
            wanted = f"a number from 0 to 1, {AUTO!r} or None"
            raise QueryError(f"min_score of {corpus!r} must be {wanted}, not {floor!r}")
    check_rrf_k(choosing.rrf_k)
    if choosing.boost is not None and not callable(choosing.boost):
        raise QueryError(f"dep_boost is a function hit -> number, not {choosing.boost!r:.60}")


def check_weights(weights: Mapping[str, float]) -> None:
    """Raise QueryError for a weight of a source that is no number from 0 up."""
    for source, weight in weights.items():
        if not is_weight(weight):
            raise QueryError(f"the weight of {source!r} must be a number from 0, not {weight!r}")


def check_rrf_k(rrf_k: Any) -> None:
    """Raise QueryError for an invalid constant of reciprocal ranks."""
    if not is_number(rrf_k) or not 0 < rrf_k < float("inf"):
        raise QueryError(f"rrf_k must be a number above 0, not {rrf_k!r}")


def is_weight(value: Any) -> bool:
    """Return whether a value is a finite number from 0 up."""
    return is_number(value) and 0 <= value < float("inf")


def is_share(value: Any) -> bool:
    """Return whether a value is a number from 0 to 1."""
    return is_number(value) and 0 <= value <= 1


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_name(parameter: str, corpus: Any, corpora: Collection[str]) -> None:
    if corpus not in corpora:
        raise QueryError(
            f"{parameter} names {corpus!r}, which is not asked{did_you_mean(str(corpus), corpora)}",
            f"asked here: {', '.join(sorted(corpora))}",
        )


def merge_rankings(
    rankings: Sequence[CorpusRanking], choosing: SelectionOptions
) -> list[Candidate]:
    """Return the candidates of several rankings in one order, scores never rising."""
    rankings = [each for each in rankings if each.retrieved.candidates]
    if callable(choosing.merge):
        return _clamp_scores(_by_function(rankings, choosing.merge))
    if len(rankings) == 1:
        return _clamp_scores(rankings[0].retrieved.candidates)
    if choosing.merge == "rrf":
        return _clamp_scores(_by_rank(rankings, choosing))
    if choosing.merge == "score":
        return _clamp_scores(_by_score(rankings, choosing.weights))
    return _clamp_scores(_interleaved(rankings))


def _interleaved(rankings: Sequence[CorpusRanking]) -> list[Candidate]:
    """Interleave the corpora's rankings: next comes the head that is most unusual for its corpus.

    Each corpus' own order is kept. Across corpora deviations from what is usual compare, and where
    one of them has no floor evidence does; raw scores never.
    """
    calibrated = all(each.floor is not None for each in rankings)
    waiting = [
        [
            (ranking.distinction_of(each) if calibrated else each.score, each)
            for each in reversed(ranking.retrieved.candidates)
        ]
        for ranking in rankings
    ]
    found: list[Candidate] = []
    while waiting := [ranking for ranking in waiting if ranking]:
        best = max(waiting, key=lambda ranking: ranking[-1][0])
        found.append(best.pop()[1])
    return found


def _by_rank(rankings: Sequence[CorpusRanking], choosing: SelectionOptions) -> list[Candidate]:
    """Order by weight / (rrf_k + rank); ties by rank, then by the order of the corpora."""
    placed = [
        (_weight(choosing.weights, ranking) / (choosing.rrf_k + rank), rank, place, each)
        for place, ranking in enumerate(rankings)
        for rank, each in enumerate(ranking.retrieved.candidates, start=1)
    ]
    placed.sort(key=lambda found: (-found[0], found[1], found[2]))
    return [each for *_, each in placed]


def _by_score(rankings: Sequence[CorpusRanking], weights: Mapping[str, float]) -> list[Candidate]:
    """Order by evidence, weighted; ties keep the order of the corpora.

    Raises QueryError where it comes from vectors of different embedders.
    """
    spaces = {each.index.corpus: each.index.embedder for each in rankings if each.has_vectors}
    if len(set(spaces.values())) > 1:
        named = ", ".join(f"{corpus}: {embedder}" for corpus, embedder in spaces.items())
        raise QueryError(
            f"scores of different embedders do not compare ({named})", 'use merge="rrf"'
        )
    found = [
        (_weight(weights, ranking) * each.score, each)
        for ranking in rankings
        for each in ranking.retrieved.candidates
    ]
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])]


def _weight(weights: Mapping[str, float], ranking: CorpusRanking) -> float:
    return float(weights.get(ranking.index.corpus, 1.0))


def _by_function(rankings: Sequence[CorpusRanking], merge: MergeHits) -> list[Candidate]:
    """Order as a function does, which may leave hits out. Raises QueryError for hits of its own."""
    given: dict[str, list[Hit]] = {}
    found: dict[tuple[str, str, int], Candidate] = {}
    for ranking in rankings:
        candidates = ranking.retrieved.candidates
        hits = given[ranking.index.corpus] = [each.hit(True) for each in candidates]
        found |= zip(map(_reference, hits), candidates, strict=True)
    order = dict.fromkeys(_reference(hit) for hit in merge(given))
    if foreign := [reference for reference in order if reference not in found]:
        raise QueryError(f"merge returned what it was not given: {foreign[0]!r:.80}")
    return [found[reference] for reference in order]


def _reference(hit: Any) -> tuple[str, str, int]:
    if not isinstance(hit, Hit):
        raise QueryError(f"merge must return hits, not {hit!r:.60}")
    return hit.corpus, hit.artifact_id, hit.surface_index


def _clamp_scores(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in their order, each with no more score than the one before it."""
    lowest = accumulate((each.score for each in candidates), min)
    return [
        each if each.score == score else replace(each, score=score)
        for each, score in zip(candidates, lowest, strict=True)
    ]
