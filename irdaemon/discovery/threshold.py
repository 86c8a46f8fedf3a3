"""Thresholds: which corpora have an answer, each by its own floor, before anything is merged.

A number given as `min_score` is a floor on evidence. `auto` is the calibrated floor on confidence
(see `floor`), where there is one that separates well, and else a plain one on evidence, as far as
the embedder counts. An artifact called by its exact name is above any floor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from irdaemon.discovery.floor import (
    PLAIN,
    Strength,
    confidence_of,
    distinction,
    of_this_formula,
    reranked_mode,
    trusted,
)
from irdaemon.discovery.rerank import best_score
from irdaemon.discovery.retrieve import UNTUNED, Candidate, Question, Retrieved
from irdaemon.discovery.strategies import AUTO
from irdaemon.index import CorpusIndex
from irdaemon.text.languages import is_foreign
from irdaemon.types import Floor, Query

_PLAIN = "plain"
# A query of which the corpus does not hold such a share of the words may be in another language;
# its floor is where confidence says neither yes nor no.
_MOSTLY_UNKNOWN, _EVEN = 0.3, 0.5
# An identifier in at most so many records leads to those that hold it.
_FEW = 2


@dataclass(frozen=True, slots=True)
class CorpusRanking:
    """What was retrieved from one corpus for one query, and whether that is above its floor.

    `floor` is the calibrated floor that was applied, None where none was; `why` names the other
    floor, and why it was.
    """

    index: CorpusIndex
    question: Question
    retrieved: Retrieved
    floor: Floor | None
    why: str
    above_floor: bool
    confidence: float | None
    mass: float
    reranked: bool

    @property
    def plain_floor(self) -> float:
        """Return the evidence that is asked for in place of a calibrated floor."""
        plain = self.why.startswith(_PLAIN) and not self.reranked
        if plain and self.index.building:  # neither legs nor idf are what they will be
            return PLAIN
        return PLAIN * self.question.trust if plain and self.has_vectors else 0.0

    @property
    def has_vectors(self) -> bool:
        """Return whether vectors took part in the ranking."""
        return "dense" in self.retrieved.took_part

    @property
    def cut(self) -> bool:
        """Return whether there may be more candidates than were asked for."""
        return len(self.retrieved.candidates) >= self.question.k

    @property
    def top_score(self) -> float:
        """Return the best evidence of any candidate here."""
        return max((c.score for c in self.retrieved.candidates), default=0.0)

    def distinction_of(self, candidate: Candidate) -> float:
        """Return how unusual a candidate is for its corpus; named ones are above all others.

        It orders candidates of several corpora, as raw scores and confidence (which is 1 for most
        answers to a long query) do not.
        """
        if self.floor is None or candidate.score >= 1:
            return math.inf if candidate.score >= 1 else candidate.score
        if self.reranked:
            return confidence_of(self.floor, Strength(candidate.evidence, 0.0, 0.0))
        trust = self.question.trust
        found = Strength(candidate.cosine, candidate.bm25, self.mass, trust)
        return distinction(self.floor, found) + 2 * candidate.evidence

    def signals(self) -> dict[str, Any]:
        """Return what an answer reports of this corpus."""
        signals: dict[str, Any] = {
            "n_candidates": len(self.retrieved.candidates),
            "top_score": round(self.top_score, 4),
            "above_floor": self.above_floor,
            "floor": {"kind": self.why},
        }
        if self.plain_floor:
            signals["floor"]["at_least"] = round(self.plain_floor, 4)
        if self.confidence is not None:
            signals["confidence"] = round(self.confidence, 4)
        if self.floor is not None:
            signals["floor"] = {
                "kind": AUTO,
                "at_least": self.floor.at_least,
                "j": self.floor.j,
                "n": self.floor.n_inside + self.floor.n_outside,
                "labelled": self.floor.labelled,
                "calibrated_at": self.floor.calibrated_at,
            }
        return signals


def ranking_of(
    index: CorpusIndex, question: Question, retrieved: Retrieved, query: Query, reread_by: str = ""
) -> CorpusRanking:
    """Return what was retrieved from a corpus, compared with the floor that the query asks for.

    `reread_by` names what read a reranked query's candidates again: its floors are no other's.
    """
    floor, why = _floor(index, question, query, reread_by)
    if floor is not None and _in_another_language(question):
        # Its vector means little, and its words are no measure of what it asks for.
        question, floor = replace(question, trust=0.0, unknown=0), replace(floor, at_least=_EVEN)
    mass = index.lexical.mass(question.terms, question.unknown) if floor else 0.0
    confidence = None
    if floor is not None and query.rerank:
        confidence = confidence_of(floor, Strength(best_score(retrieved), 0.0, 0.0))
    elif floor is not None and retrieved.legs is not None:
        legs = retrieved.legs
        best = Strength(legs.best_cosine, legs.best_bm25, mass, question.trust)
        confidence = confidence_of(floor, best)
    ranking = CorpusRanking(
        index, question, retrieved, floor, why, True, confidence, mass, query.rerank
    )
    return replace(ranking, above_floor=_is_above(ranking, query.select.min_score))


def _is_above(ranking: CorpusRanking, min_score: float | str | None) -> bool:
    if ranking.retrieved.legs is not None and ranking.retrieved.legs.named:
        return True
    if isinstance(min_score, (int, float)):
        return ranking.top_score >= min_score
    if _holds_identifier(ranking):
        return True
    if ranking.floor is not None and ranking.confidence is not None:
        return ranking.confidence >= ranking.floor.at_least
    return ranking.top_score >= ranking.plain_floor


def _in_another_language(question: Question) -> bool:
    """Return whether a query is in a language of which the corpus holds few words."""
    n = len(question.terms) + question.unknown
    return question.unknown > _MOSTLY_UNKNOWN * n and is_foreign(question.text)


def _holds_identifier(ranking: CorpusRanking) -> bool:
    """Return whether the first candidate holds an identifier of the query that few records do."""
    candidates, lexical = ranking.retrieved.candidates, ranking.index.lexical
    if not candidates or not ranking.question.identifiers:
        return False
    held = ranking.index.rows.counts_of(candidates[0].position)
    wanted = ranking.question.identifiers
    return any(term in held and lexical.frequency(term) <= _FEW for term in wanted)


def _floor(
    index: CorpusIndex, question: Question, query: Query, reread_by: str
) -> tuple[Floor | None, str]:
    if query.select.min_score is None:
        return None, "none: not asked for"
    if query.select.min_score != AUTO:
        return None, "given"
    if query.weights:
        return None, f"{_PLAIN}: surfaces are weighted"
    if (question.tuning.k1, question.tuning.b) != (UNTUNED.k1, UNTUNED.b):
        return None, f"{_PLAIN}: BM25 has other numbers"
    if query.rerank and not reread_by:
        return None, f"{_PLAIN}: nothing names the reranker"
    mode = reranked_mode(query.mode, reread_by) if query.rerank else query.mode
    floor = of_this_formula(index.floors).get(mode)
    if floor is None:
        why = "still building" if index.building else "not calibrated"
        return None, f"{_PLAIN}: {why}"
    if not trusted(floor):
        return None, f"{_PLAIN}: the calibrated one separates badly (J {floor.j:.2f})"
    return floor, AUTO
