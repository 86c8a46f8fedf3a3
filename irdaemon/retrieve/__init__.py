"""Retrieve: the best candidates of one corpus, in order, each with what every leg says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.index import Card, CorpusIndex
from irdaemon.retrieve import fuse
from irdaemon.retrieve.where import mask_of
from irdaemon.types import Hit

# Decimals kept when ordering: beyond them, sums depend on the order of addition.
_EXACT = 5


@dataclass(frozen=True, slots=True)
class Question:
    """An analysed query: term ids, vector (None when no dense leg takes part), and its limits."""

    text: str
    terms: tuple[int, ...]
    vector: NDArray[np.float32] | None
    mode: str
    k: int
    where: Mapping[str, Any]
    surfaces: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An artifact in the running: where it stands in its index, and what the legs say of it.

    `score` is its evidence. `hit` is made only of those that get that far.
    """

    index: CorpusIndex
    owner: int
    position: int
    score: float
    cosine: float
    bm25: float
    fused: float

    @property
    def card(self) -> Card:
        """Return what the index shows of the artifact."""
        return self.index.rows.cards[self.owner]

    @property
    def content(self) -> str:
        """Return the hash of its content, by which copies are recognised."""
        return self.card.content

    @property
    def hit(self) -> Hit:
        """Return it as an answer shows it."""
        card, shown = self.card, self.index.rows.shown[self.position]
        summary = shown.summary.removeprefix(card.name).strip(": \n")
        return Hit(
            corpus=self.index.corpus,
            artifact_id=card.artifact_id,
            name=card.name,
            kind=shown.kind,
            score=round(self.score, 4),
            scores={
                "dense": round(self.cosine, 4),
                "lexical": round(self.bm25, 4),
                "fused": round(self.fused, 4),
            },
            summary=" ".join(summary.split()) or card.name,
            pointer=card.pointer,
            fields=card.fields,
        )


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The candidates of one corpus, best first, and how many records the filters let through."""

    candidates: tuple[Candidate, ...]
    eligible: int
    legs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    """Candidate records by position, with both raw scores and the fused one.

    `named` are the artifacts that the query calls by name: they come first, with full evidence.
    """

    positions: NDArray[np.int64]
    cosine: fuse.Scores
    bm25: fuse.Scores
    fused: fuse.Scores
    named: frozenset[int]


def retrieve(index: CorpusIndex, question: Question) -> Retrieved:
    """Return the `k` best artifacts of a corpus: filtered first, then ranked, fused, collapsed."""
    mask = _mask(index, question)
    eligible = len(index.rows.shown) if mask is None else int(mask.sum())
    dense = question.vector is not None and bool(index.rows.embedded.any())
    lexical = question.mode != "dense"
    legs = (("dense",) if dense else ()) + (("lexical",) if lexical else ())
    named = index.names.called(question.text)
    if not eligible or not (dense or question.terms or named):
        return Retrieved((), eligible, legs)
    scored = _score(index, question, mask, named)
    return Retrieved(_candidates(index, question, scored), eligible, legs)


def _mask(index: CorpusIndex, question: Question) -> NDArray[np.bool_] | None:
    mask = mask_of(question.where, index.columns) if question.where else None
    if not question.surfaces:
        return mask
    kinds = index.columns.kinds(question.surfaces)
    return kinds if mask is None else mask & kinds


def _score(
    index: CorpusIndex, question: Question, mask: NDArray[np.bool_] | None, named: list[int]
) -> _Scored:
    bm25 = _lexical(index, question, mask)
    near, cosine = _dense(index, question, mask)
    depth = max(fuse.TOP, 5 * question.k)
    nearest = _top(cosine, depth)
    matched = np.flatnonzero(bm25 > 0)
    top_lexical = matched[_top(bm25[matched], depth)]
    positions = np.union1d(near[nearest], top_lexical)
    if named:
        theirs = np.isin(index.rows.artifact_of, named)
        positions = np.union1d(positions, np.flatnonzero(theirs if mask is None else theirs & mask))
    cosines = (
        np.zeros(len(positions), np.float32)
        if question.vector is None
        else index.dense.scores_of(question.vector, positions)
    )
    fused = fuse.fused(
        fuse.standardise(cosines, np.sort(cosine[nearest])[-fuse.TOP :]),
        fuse.standardise(bm25[positions], np.sort(bm25[top_lexical])[-fuse.TOP :]),
    )
    return _Scored(positions, cosines, bm25[positions], fused, frozenset(named))


def _lexical(index: CorpusIndex, question: Question, mask: NDArray[np.bool_] | None) -> fuse.Scores:
    if question.mode == "dense":
        return np.zeros(len(index.rows.shown), np.float32)
    scores = index.lexical.ranked(question.terms)
    return scores if mask is None else np.where(mask, scores, 0)


def _dense(
    index: CorpusIndex, question: Question, mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], fuse.Scores]:
    """Return the positions looked at and their cosines, all of them unless a graph helps."""
    if question.vector is None:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    if mask is None:
        near = index.dense.candidates(question.vector, max(fuse.TOP, 5 * question.k))
    else:
        near = np.flatnonzero(mask & index.rows.embedded)
    if len(near) == len(index.rows.shown):
        return near, index.dense.scores(question.vector)
    return near, index.dense.scores_of(question.vector, near)


def _top(scores: fuse.Scores, depth: int) -> NDArray[np.int64]:
    """Return the places of the `depth` largest scores, and of all that tie with the last."""
    if len(scores) <= depth:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return np.flatnonzero(scores >= least)


def _candidates(index: CorpusIndex, question: Question, scored: _Scored) -> tuple[Candidate, ...]:
    """Return the `k` best artifacts, those called by name first, each by its best record.

    Ties go by id.
    """
    fused = np.round(scored.fused, _EXACT).tolist()
    best: dict[int, int] = {}
    for place, owner in enumerate(index.rows.artifact_of[scored.positions].tolist()):
        if owner not in best or fused[place] > fused[best[owner]]:
            best[owner] = place
    cards = index.rows.cards
    order = sorted(
        best,
        key=lambda o: (o not in scored.named, -fused[best[o]], cards[o].artifact_id),
    )
    evidence = fuse.evidence(question.mode, scored.cosine, scored.bm25)

    def candidate(owner: int) -> Candidate:
        place = best[owner]
        return Candidate(
            index,
            owner,
            int(scored.positions[place]),
            1.0 if owner in scored.named else float(evidence[place]),
            float(scored.cosine[place]),
            float(scored.bm25[place]),
            float(scored.fused[place]),
        )

    return tuple(candidate(owner) for owner in order[: question.k])
