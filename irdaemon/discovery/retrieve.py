"""Retrieve: the best candidates of one corpus, in order, each with its score in every leg."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.evidence import evidence
from irdaemon.discovery.fuse import FUSIONS, RRF_K, fused
from irdaemon.discovery.legs import Legs, score_legs
from irdaemon.discovery.question import UNTUNED, Question
from irdaemon.discovery.summary import summary_of
from irdaemon.discovery.where import mask_of
from irdaemon.index import Card, CorpusIndex
from irdaemon.index.top import top
from irdaemon.runtime.profile import stage
from irdaemon.types import Hit

__all__ = ["FUSIONS", "RRF_K", "UNTUNED", "Candidate", "Question", "Retrieved", "retrieve"]

# Decimals kept when ordering: beyond them, sums depend on the order of addition.
_EXACT = 5
_LAG = 0.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A retrieved artifact or passage of one: its place in its index, and its scores in the legs.

    `card` is what the index shows of it. `score` is what it is selected on: its evidence, less what
    it lags behind the first (see `_selected_on`). `covered` is the share of its name that the query
    covers, `asked` the text of the query. `hit` is made only of those that get that far.
    """

    index: CorpusIndex
    owner: int
    card: Card
    position: int
    score: float
    evidence: float
    cosine: float
    bm25: float
    covered: float
    fused: float
    asked: str

    @property
    def content(self) -> str:
        """Return the hash of its content, by which duplicates are recognised."""
        return self.card.content

    @property
    def surface_index(self) -> int:
        """Return the place of its record in its artifact's plan."""
        return int(self.index.rows.surfaces.array[self.position])

    @property
    def summary(self) -> str:
        """Return the line that describes it, by the record that matched and the query's words."""
        return summary_of(self.index.rows, self.card, self.position, self.asked)

    def hit(self, summarised: bool) -> Hit:
        """Return it as an answer shows it, with or without its summary."""
        card, rows = self.card, self.index.rows
        return Hit(
            corpus=self.index.corpus,
            artifact_id=card.artifact_id,
            name=card.name,
            kind=rows.kind_of(self.position),
            score=round(self.score, 4),
            scores={
                "dense": round(self.cosine, 4),
                "lexical": round(self.bm25, 4),
                "name": round(self.covered, 4),
                "fused": round(self.fused, 4),
                "evidence": round(self.evidence, 4),
            },
            summary=self.summary if summarised else "",
            pointer=card.pointer,
            fields={**card.fields, **rows.shown[self.position].fields},
            surface_index=self.surface_index,
        )


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The candidates of one corpus, best first, and how they were found.

    `eligible` counts the records the filters let through; `legs` is None where there was nothing
    to score.
    """

    candidates: tuple[Candidate, ...]
    eligible: int
    took_part: tuple[str, ...]
    legs: Legs | None = None


def retrieve(index: CorpusIndex, question: Question) -> Retrieved:
    """Return the `k` best artifacts of a corpus: filtered, ranked, fused, each once.

    Each as often as `passages` says, where that is more.
    """
    with stage("filter"):
        mask = _mask(index, question)
    eligible = index.eligible(mask)
    dense = question.vector is not None and index.has_vectors
    lexical = question.mode != "dense"
    took_part = (("dense",) if dense else ()) + (("lexical",) if lexical else ())
    named = index.names.called(question.text)
    if not eligible or not (dense or question.terms or question.unstemmed or named):
        return Retrieved((), eligible, took_part)
    legs = score_legs(index, question, mask, named)
    with stage("fuse"):
        return Retrieved(_candidates(index, question, legs), eligible, took_part, legs)


def _mask(index: CorpusIndex, question: Question) -> NDArray[np.bool_] | None:
    """Return which present records the filters let through; None where there is no filter."""
    if not question.where and not question.surfaces:
        return None
    mask = index.rows.present
    if question.where:
        mask = mask & mask_of(question.where, index.columns)
    if question.surfaces:
        mask = mask & index.columns.kinds(question.surfaces)
    return mask


def _candidates(index: CorpusIndex, question: Question, legs: Legs) -> tuple[Candidate, ...]:
    """Return the `k` best artifacts, those called by name first, each by its best record.

    Where several passages of an artifact are asked for, each is a candidate of its own, and the
    best of one called by name comes first. Ties go by id, then in plan order.
    """
    rounded = np.round(fused(index, question, legs), _EXACT)
    of = index.rows.artifact_of.array[legs.positions]
    scores, owners = rounded.tolist(), of.tolist()
    best = best_places(of, rounded)
    called = {place for place in best.tolist() if owners[place] in legs.named}
    if question.passages > 1:
        best = np.array(_passages(owners, scores, question.passages), np.int64)
    leading = _leading(best, rounded, called, question.k)
    cards = {owners[place]: index.rows.cards[owners[place]] for place in leading}
    order = sorted(
        leading,
        key=lambda at: (at not in called, -scores[at], cards[owners[at]].artifact_id, at),
    )
    order = order[: question.k]
    grounds = evidence(question.mode, question.trust, legs.cosine, legs.bm25)
    own = [1.0 if place in called else float(grounds[place]) for place in order]
    selected_on = _selected_on(own, [scores[place] for place in order])

    def candidate(rank: int, place: int) -> Candidate:
        return Candidate(
            index,
            owners[place],
            cards[owners[place]],
            int(legs.positions[place]),
            selected_on[rank],
            own[rank],
            float(legs.cosine[place]),
            float(legs.bm25[place]),
            float(legs.covered[place]),
            scores[place],
            question.text,
        )

    return tuple(candidate(rank, place) for rank, place in enumerate(order))


def best_places(owners: NDArray[np.integer], scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the place of the best record of each artifact, the first of equals.

    `owners`, the artifact of each record, ascend.
    """
    places = np.arange(len(owners))
    starts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    if len(starts) + 1 >= len(owners):  # a record each
        return places
    starts = np.concatenate([[0], starts])
    best = np.maximum.reduceat(scores, starts)
    places[scores != np.repeat(best, np.diff(starts, append=len(owners)))] = len(owners)
    return np.minimum.reduceat(places, starts)


def _passages(owners: Sequence[int], scores: Sequence[float], most: int) -> list[int]:
    """Return the places of the best records of each artifact, at most so many."""
    places: dict[int, list[int]] = {}
    for place, owner in enumerate(owners):
        places.setdefault(owner, []).append(place)
    ordered = (sorted(own, key=lambda place: -scores[place]) for own in places.values())
    return [place for own in ordered for place in own[:most]]


def _leading(
    places: NDArray[np.int64], scores: NDArray[np.float32], called: Collection[int], k: int
) -> list[int]:
    """Return the places that may be among the first `k`: those that tie, and those called."""
    leading = places[top(scores[places], k)].tolist()
    return leading if not called else [*dict.fromkeys((*leading, *called))]


def _selected_on(evidence: list[float], fused: list[float]) -> list[float]:
    """Return evidence that falls along the order and shrinks with the distance to the first.

    A twentieth for each deviation that fusion puts between them: what is clearly behind is not a
    rival, whatever its evidence. docs/retrieval.md has the figures.
    """
    scores = (
        own * math.exp(-_LAG * max(0.0, fused[0] - behind))
        for own, behind in zip(evidence, fused, strict=True)
    )
    return list(accumulate(scores, min))
