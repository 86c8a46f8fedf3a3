"""Rerank: a model reads the best candidates again and puts them in its order."""

from __future__ import annotations

from dataclasses import replace

from irdaemon.embed.rerankers import DEPTH, Reranker
from irdaemon.retrieve import Candidate, Retrieved


def reranked(retrieved: Retrieved, query: str, reranker: Reranker) -> Retrieved:
    """Return what was retrieved with its first candidates in the reranker's order.

    A candidate's evidence is then the reranker's score of the beginning of its surface's text.
    Artifacts called by their exact name stay first; candidates that were not read stay behind.
    """
    first, rest = retrieved.candidates[:DEPTH], retrieved.candidates[DEPTH:]
    if not first:
        return retrieved
    texts = [each.index.rows.shown[each.position].summary for each in first]
    scores = reranker.scores(query, texts).tolist()
    read = [_rescored(each, score) for each, score in zip(first, scores, strict=True)]
    read.sort(key=lambda each: (-each.score, each.card.artifact_id))
    least = read[-1].score
    behind = [replace(each, score=min(each.score, least)) for each in rest]
    return replace(retrieved, candidates=(*read, *behind))


def best_score(retrieved: Retrieved) -> float:
    """Return the best score of a candidate that is not simply called by its name."""
    named = retrieved.legs.named if retrieved.legs else frozenset()
    return max((c.evidence for c in retrieved.candidates if c.owner not in named), default=0.0)


def _rescored(candidate: Candidate, score: float) -> Candidate:
    # An exact name is full evidence, whatever a model makes of the text.
    own = 1.0 if candidate.evidence >= 1 else score
    return replace(candidate, score=own, evidence=own)
