"""Boost: a function adds to the scores of candidates, after fusion and reranking."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from numbers import Real

from irclient.errors import QueryError
from irdaemon.discovery.retrieve import Candidate, Retrieved
from irdaemon.types import Hit

# From a hit without its summary: what is added to its score.
ScoreBoost = Callable[[Hit], float]
# Candidates of each corpus that are boosted: one far down may be lifted to the top.
DEPTH = 200


def boosted(retrieved: Retrieved, boost: ScoreBoost) -> Retrieved:
    """Return what was retrieved with a boost added to each score, in the order of the sums.

    Equal ones keep their order, and evidence stays what it is. Raises QueryError for a boost that
    is no finite number.
    """
    found = [_boosted(each, boost) for each in retrieved.candidates]
    found.sort(key=lambda each: -each.score)
    return replace(retrieved, candidates=tuple(found))


def _boosted(candidate: Candidate, boost: ScoreBoost) -> Candidate:
    extra = boost(candidate.hit(False))
    if isinstance(extra, bool) or not isinstance(extra, Real) or not math.isfinite(extra):
        raise QueryError(
            f"dep_boost gave {extra!r:.60} for {candidate.card.artifact_id!r:.100}",
            "it must be a finite number, 0 for what is not boosted",
        )
    return replace(candidate, score=candidate.score + float(extra)) if extra else candidate
