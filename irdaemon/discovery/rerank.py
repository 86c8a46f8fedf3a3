"""Rerank and boost: a model rereads the best candidates, a function adds to their scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.discovery.retrieve import Candidate, Retrieved
from irdaemon.embed.rerankers import DEPTH, NOT_CONFIGURED, Reranker
from irdaemon.types import Hit

# From a hit without its summary to the number added to its score.
ScoreBoost = Callable[[Hit], float]
# Candidates of each corpus that are boosted: one far down may be lifted to the top.
BOOSTED = 200


def boost_candidates(retrieved: Retrieved, boost: ScoreBoost) -> Retrieved:
    """Return candidates with a boost added to each score, ordered by the sums.

    Equal ones keep their order, and evidence is unchanged. Raises QueryError for a boost that is
    not a finite number.
    """
    found = [_boost_candidate(each, boost) for each in retrieved.candidates]
    found.sort(key=lambda each: -each.score)
    return replace(retrieved, candidates=tuple(found))


def _boost_candidate(candidate: Candidate, boost: ScoreBoost) -> Candidate:
    extra = boost(candidate.make_hit(False))
    if isinstance(extra, bool) or not isinstance(extra, Real) or not math.isfinite(extra):
        raise QueryError(
            f"dep_boost gave {extra!r:.60} for {candidate.card.artifact_id!r:.100}",
            "it must be a finite number, 0 for no boost",
        )
    return candidate._replace(score=candidate.score + float(extra)) if extra else candidate


def get_surface_text(candidate: Candidate) -> str:
    """Return the beginning of the text of a candidate's surface."""
    return candidate.index.rows.shown[candidate.position].summary


@dataclass(frozen=True, slots=True)
class Rereading:
    """How the best candidates are reranked: by which model, and which text of each it reads.

    `key` names both, for stored floors; "" if no suitable name exists.
    """

    reranker: Reranker = NOT_CONFIGURED
    text_of: Callable[[Candidate], str] = get_surface_text
    key: str = ""

    @classmethod
    def of_reranker(cls, reranker: Reranker) -> Rereading:
        """Return a rereading of the surfaces by a reranker."""
        return cls(reranker, key=make_floor_key(reranker.id))

    def bind_query(self, query: str) -> Rereading:
        """Return it with each text scored once for this query, regardless of its wordings."""
        return replace(self, reranker=_QueryReranker(self.reranker, query))


class _QueryReranker:
    """Score texts for one query, and keep the scores; belongs to one search."""

    def __init__(self, reranker: Reranker, query: str):
        self.id = reranker.id
        self._reranker, self._query = reranker, query
        self._scores: dict[str, float] = {}

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text; the passed wording is ignored."""
        new = [text for text in dict.fromkeys(texts) if text not in self._scores]
        if new:
            given = self._reranker.scores(self._query, new).tolist()
            self._scores.update(zip(new, given, strict=True))
        return np.asarray([self._scores[text] for text in texts], np.float32)


NOT_REREAD = Rereading()


def make_floor_key(reranker: str, text: str = "") -> str:
    """Return a unique name for a reranker and the text it reads ("": the surface)."""
    named = reranker.replace("+", "%2B")
    return f"{named}+{text}" if named and text else named


def rerank_candidates(
    retrieved: Retrieved, query: str, rereading: Rereading, depth: int | None = None
) -> Retrieved:
    """Return candidates with the first `depth` in the reranker's order.

    A candidate's evidence is then the reranker's score; equal texts are read once. Artifacts called
    by their exact name stay first; unread candidates stay last.
    """
    depth = depth or DEPTH
    first, rest = retrieved.candidates[:depth], retrieved.candidates[depth:]
    if not first:
        return retrieved
    texts = [rereading.text_of(each) for each in first]
    distinct = list(dict.fromkeys(texts))
    given = rereading.reranker.scores(query, distinct).tolist()
    scores = dict(zip(distinct, given, strict=True))
    read = [_rescore_candidate(each, scores[text]) for each, text in zip(first, texts, strict=True)]
    read.sort(key=lambda each: (-each.score, each.card.artifact_id))
    least = read[-1].score
    behind = [each._replace(score=min(each.score, least)) for each in rest]
    return replace(retrieved, candidates=(*read, *behind))


def find_best_score(retrieved: Retrieved) -> float:
    """Return the best score of a candidate that is not called by its exact name."""
    named = retrieved.legs.named if retrieved.legs else frozenset()
    return max((c.evidence for c in retrieved.candidates if c.owner not in named), default=0.0)


def _rescore_candidate(candidate: Candidate, score: float) -> Candidate:
    # An exact name is full evidence, whatever a model makes of the text.
    own = 1.0 if candidate.evidence >= 1 else score
    return candidate._replace(score=own, evidence=own)
