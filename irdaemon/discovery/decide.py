"""Decide: which corpora have an answer, and which of their hits are committed, or why none is.

Hits come in fused order; every rule here works on their evidence (`hit.score`), where a ratio means
something. Every strategy starts from the best-ranked hit and is cut to `max_k`. The signals of
the decision: `n_candidates`, `top_score`, `min_ratio` (the weakest committed hit's share
of the top), `n_selected`, and `min_score` where a floor was applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from irclient.errors import QueryError
from irclient.types import STRATEGIES
from irdaemon.discovery.rerank import find_best_score
from irdaemon.discovery.retrieve import UNTUNED, Candidate, Question, Retrieved
from irdaemon.index import CorpusIndex
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.text.languages import is_foreign
from irdaemon.types import Floor, Hit, Query, SelectSpec, Usual

# The floor that is calibrated for each corpus; it is applied before selection (`apply_floor`).
AUTO = "auto"
# The share of the top score where none is asked for, and what it is then raised to, by that score.
_REL = 0.9
_CLEAR, _BEHIND_CLEAR, _BEHIND_UNCLEAR = 0.5, 1.5, 5.0

Selector = Callable[[Sequence[Hit]], Sequence[Hit]]


class Scored(Protocol):
    """What is selected on its evidence: a hit, or what one can be made of."""

    @property
    def score(self) -> float:
        """Return its evidence, 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a selector accepts, why it stopped there, and what the signals say of it besides."""

    hits: tuple[Hit, ...]
    reason: str
    signals: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class ReasonedSelector(Protocol):
    """A selector that says why; where it abstains, its reason is the answer's."""

    def __call__(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that it accepts."""
        ...

    def chosen(self, hits: Sequence[Hit], spec: SelectSpec) -> Chosen:
        """Return the hits that it accepts, at most as many as the spec allows, and why."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """What was committed, and why it stopped there; `candidates` are what it was chosen from."""

    hits: tuple[Hit, ...]
    abstained: bool
    reason: str
    signals: dict[str, Any]
    candidates: tuple[Hit, ...] = ()

    @property
    def selected(self) -> tuple[Hit, ...]:
        """Return the hits that were committed to."""
        return self.hits

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {"abstained": self.abstained, "reason": self.reason, "signals": self.signals}
        return {"hits": [hit.to_dict() for hit in self.hits], **plain}


def _show_itself(found: Any) -> Hit:
    hit: Hit = found
    return hit


def select(
    found: Sequence[Scored],
    spec: SelectSpec,
    custom: Selector | None = None,
    show: Callable[[Any], Hit] = _show_itself,
) -> Choice:
    """Commit to what a valid spec's strategy accepts; `custom` replaces the strategy.

    `show` makes a hit of what was found: for a selector that is not ours of everything, and else
    only of what is committed.
    """
    signals: dict[str, Any] = {"n_candidates": len(found), "n_selected": 0}
    if all(each.score <= 0 for each in found):
        return Choice((), True, "no_candidates", signals)
    top = found[0].score
    signals["top_score"] = top
    if isinstance(spec.min_score, (int, float)):
        signals["min_score"] = spec.min_score
        if top < spec.min_score:
            return Choice((), True, "below_floor", signals)
    if custom is None:
        places, reason = choose_places([each.score for each in found], spec)
        chosen = Chosen(tuple(show(found[place]) for place in places[: spec.max_k]), reason)
    else:
        chosen = ask_selector(custom, tuple(map(show, found)), spec)
    kept = chosen.hits[: spec.max_k]
    signals |= {**chosen.signals, "n_selected": len(kept)}
    if kept and top > 0:
        signals["min_ratio"] = round(min(hit.score for hit in kept) / top, 4)
    return Choice(kept, not kept, chosen.reason, signals)


def ask_selector(custom: Selector, hits: Sequence[Hit], spec: SelectSpec) -> Chosen:
    """Return what a selector accepts of hits, and why."""
    if isinstance(custom, ReasonedSelector):
        return custom.chosen(hits, spec)
    ranked = {id(hit) for hit in hits}
    kept = tuple(hit for hit in custom(hits) if id(hit) in ranked)
    return Chosen(kept, "custom" if kept else "no_candidates")


def fill_rel(spec: SelectSpec, hits: Sequence[Scored]) -> SelectSpec:
    """Return a spec whose `rel` is fit for hits as retrieval scores them; one asked for stays.

    What is close behind a clear first is a rival too, and a first with little evidence has rivals
    further off: 0.9 becomes 0.85, and 0.6 below a score of 0.5. docs/retrieval.md has the figures.
    """
    if spec.strategy != "conservative" or spec.rel is not None or not hits:
        return spec
    power = _BEHIND_CLEAR if hits[0].score >= _CLEAR else _BEHIND_UNCLEAR
    return replace(spec, rel=_REL**power)


def resolve_rel(spec: SelectSpec) -> float:
    """Return the share of the top score that a spec wants."""
    return _REL if spec.rel is None else spec.rel


def check_spec(spec: SelectSpec, custom: Selector | None = None) -> None:
    """Raise QueryError where a spec cannot be followed."""
    if custom is None and spec.strategy not in STRATEGIES:
        raise QueryError(
            f"unknown selection strategy {spec.strategy!r}"
            f"{did_you_mean(spec.strategy, STRATEGIES)}",
            f"use one of: {', '.join(STRATEGIES)}",
        )
    if not isinstance(spec.max_k, int) or isinstance(spec.max_k, bool) or spec.max_k < 1:
        raise QueryError(f"max_k must be a whole number of at least 1, not {spec.max_k!r}")
    for name, value in (("rel", resolve_rel(spec)), ("gap_ratio", spec.gap_ratio)):
        if not _is_share(value):
            raise QueryError(f"{name} must be a number from 0 to 1, not {value!r}")
    if spec.min_score not in (None, AUTO) and not _is_share(spec.min_score):
        wanted = f"a number from 0 to 1, {AUTO!r} or none"
        raise QueryError(f"min_score must be {wanted}, not {spec.min_score!r}")
    if spec.strategy == "abs_threshold" and custom is None and spec.min_score in (None, AUTO):
        raise QueryError("abs_threshold needs a min_score", "add --min-score F")


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def choose_places(scores: Sequence[float], spec: SelectSpec) -> tuple[Sequence[int], str]:
    """Return which places in an order a valid spec's strategy accepts, uncut, and the reason."""
    top, rel = scores[0], resolve_rel(spec)
    if spec.strategy == "conservative":
        return _choose_conservatively(scores, spec)
    places: Sequence[int]
    if spec.strategy == "top_k":
        places = range(min(spec.max_k, len(scores)))
    elif spec.strategy == "abs_threshold":
        assert isinstance(spec.min_score, (int, float))  # see `check_spec`
        places = [place for place, score in enumerate(scores) if score >= spec.min_score]
    elif spec.strategy == "rel_threshold":
        places = [place for place, score in enumerate(scores) if score >= rel * top]
        places = range(1) if top <= 0 else places
    else:  # score_gap
        pairs = enumerate(pairwise(scores), start=1)
        gaps = (at for at, (one, behind) in pairs if one <= 0 or behind < spec.gap_ratio * one)
        places = range(next(gaps, len(scores)))
    return places, spec.strategy if places else "below_floor"


def _choose_conservatively(scores: Sequence[float], spec: SelectSpec) -> tuple[Sequence[int], str]:
    top = scores[0]
    if top <= 0:
        return range(1), "nonpositive_top"
    if len(scores) == 1:
        return range(1), "single"
    for place, score in enumerate(scores[: spec.max_k]):
        if score / top < resolve_rel(spec):
            return range(place), "rel_threshold"
    if len(scores) > spec.max_k:
        return range(spec.max_k), "max_k"
    return range(len(scores)), "exhausted"


# Thresholds: which corpora have an answer, each by its own floor, before anything is merged.
#
# A number given as `min_score` is a floor on evidence. `auto` is the calibrated floor on confidence
# where there is one that separates well, and else a plain one on evidence, as far as the embedder
# counts. An artifact called by its exact name is above any floor.

# Floors: the least confidence at which anything of a corpus is committed.
#
# How high the best cosine and the best BM25 score of an unanswerable query come differs from corpus
# to corpus, and BM25 grows with the query. So each best score is expressed in deviations from what
# unanswerable queries of that mass reach in that corpus, and a logistic of the two is the
# confidence that the corpus has an answer. The weights were fitted on four labelled sets, each time
# leaving out the one that was measured (docs/retrieval.md); nothing of a corpus' own labels is in
# them. What is usual in a corpus is measured by `calibrate`, which also sets the floor on the
# confidence.
#
# Mass is the sum of the idf of a query's distinct tokens, as its natural logarithm.

# What makes a floor of one version useless to another: the formulas here and in `retrieve`.
FORMULA = 2
# Below this separability (Youden's J) a floor is kept and shown, but not applied by itself.
TRUSTED_J = 0.5
# Where a corpus has no floor to trust, evidence below this is no answer: over 100 seeded corpora of
# one to seven artifacts of each of five labelled sets, 80% of the queries with an answer in them
# reach it, 13% of those without (J 0.67).
PLAIN = 0.2


@dataclass(frozen=True, slots=True)
class Strength:
    """What a query finds at best in a corpus, and the query's mass and trust (see Question)."""

    cosine: float
    bm25: float
    mass: float
    trust: float = 1.0

    @property
    def words(self) -> float:
        """Return the BM25 score on the scale on which it is compared."""
        return math.log(self.bm25 + 2)


# Weights of the dense and the lexical deviations, and the constant, by mode.
_WEIGHTS: Mapping[str, tuple[float, float, float]] = {
    "hybrid": (1.0, 1.4, -2.0),
    "dense": (1.4, 0.0, -1.3),
    "lexical": (0.0, 2.0, -1.5),
}
# What cosines add to the order of candidates of several corpora, in deviations.
_DENSE_SHARE, _DENSE_COUNTS_UP_TO = 0.4, 2.0
# A reranker's best score stands where the cosine does, and nothing beside it.
_RERANKED = (1.4, 0.0, -1.3)


def keep_current_floors(floors: Mapping[str, Floor]) -> dict[str, Floor]:
    """Return the floors that the formulas of this version can use, by mode."""
    return {
        mode: floor
        for mode, floor in floors.items()
        if floor.formula == FORMULA and floor.mode == mode
    }


def name_reranked_mode(mode: str, reread_by: str) -> str:
    """Return under which mode floors are kept for answers that were read again by what is named."""
    return f"{mode}+rerank:{reread_by}"


def is_trusted(floor: Floor) -> bool:
    """Return whether a floor separates well enough to be applied without being asked for."""
    return floor.j >= TRUSTED_J


def compute_confidence(floor: Floor, found: Strength) -> float:
    """Return the confidence, 0 to 1, that a corpus answers a query that found this there."""
    return _squash(
        found.trust * _weigh_strength(floor, floor.mode, found)
        + (1 - found.trust) * _weigh_strength(floor, "lexical", found)
    )


def compute_distinction(floor: Floor, found: Strength) -> float:
    """Return how far what a query found lies above what is usual there, by words first.

    Cosines of long queries lie above the usual in every corpus of long texts, so they add little.
    """
    dense = min(_deviate(floor.dense, found.cosine, found.mass), _DENSE_COUNTS_UP_TO)
    return _deviate(floor.lexical, found.words, found.mass) + _DENSE_SHARE * found.trust * dense


def _weigh_strength(floor: Floor, mode: str, found: Strength) -> float:
    dense, lexical, constant = _WEIGHTS.get(mode, _RERANKED)
    return (
        dense * _deviate(floor.dense, found.cosine, found.mass)
        + lexical * _deviate(floor.lexical, found.words, found.mass)
        + constant
    )


def _deviate(usual: Usual, score: float, mass: float) -> float:
    """Return how far a score lies above what is usual."""
    return (score - usual.level - usual.slope * mass) / usual.spread


def _squash(x: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, x))))


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
        if self.reranked or not self.why.startswith(_PLAIN):
            return 0.0
        if self.index.building:  # neither legs nor idf are what they will be
            return PLAIN
        return PLAIN * self.question.trust if "dense" in self.retrieved.took_part else 0.0

    @property
    def cut(self) -> bool:
        """Return whether there may be more candidates than were asked for."""
        return len(self.retrieved.candidates) >= self.question.k

    @property
    def top_score(self) -> float:
        """Return the best evidence of any candidate here."""
        return max((c.score for c in self.retrieved.candidates), default=0.0)

    def measure_distinction(self, candidate: Candidate) -> float:
        """Return how unusual a candidate is for its corpus; named ones are above all others.

        It orders candidates of several corpora, as raw scores and confidence (which is 1 for most
        answers to a long query) do not.
        """
        if self.floor is None or candidate.score >= 1:
            return math.inf if candidate.score >= 1 else candidate.score
        if self.reranked:
            return compute_confidence(self.floor, Strength(candidate.evidence, 0.0, 0.0))
        trust = self.question.trust
        found = Strength(candidate.cosine, candidate.bm25, self.mass, trust)
        return compute_distinction(self.floor, found) + 2 * candidate.evidence

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


def apply_floor(
    index: CorpusIndex, question: Question, retrieved: Retrieved, query: Query, reread_by: str = ""
) -> CorpusRanking:
    """Return what was retrieved from a corpus, compared with the floor that the query asks for.

    `reread_by` names what read a reranked query's candidates again: its floors are no other's.
    """
    floor, why = _find_floor(index, question, query, reread_by)
    if floor is not None and _is_foreign_to_corpus(question):
        # Its vector means little, and its words are no measure of what it asks for.
        question, floor = replace(question, trust=0.0, unknown=0), replace(floor, at_least=_EVEN)
    mass = index.lexical.mass(question.terms, question.unknown) if floor else 0.0
    confidence = None
    if floor is not None and query.rerank:
        confidence = compute_confidence(floor, Strength(find_best_score(retrieved), 0.0, 0.0))
    elif floor is not None and retrieved.legs is not None:
        legs = retrieved.legs
        best = Strength(legs.best_cosine, legs.best_bm25, mass, question.trust)
        confidence = compute_confidence(floor, best)
    ranking = CorpusRanking(
        index, question, retrieved, floor, why, True, confidence, mass, query.rerank
    )
    least = query.select.min_score
    if retrieved.legs is not None and retrieved.legs.named:
        return ranking
    if isinstance(least, (int, float)):
        above = ranking.top_score >= least
    elif floor is not None and confidence is not None:
        above = confidence >= floor.at_least or _holds_identifier(ranking)
    else:
        above = ranking.top_score >= ranking.plain_floor or _holds_identifier(ranking)
    return ranking if above else replace(ranking, above_floor=False)


def _is_foreign_to_corpus(question: Question) -> bool:
    """Return whether a query is in a language of which the corpus holds few words."""
    n = len(question.terms) + question.unknown
    return question.unknown > _MOSTLY_UNKNOWN * n and is_foreign(question.text)


def _holds_identifier(ranking: CorpusRanking) -> bool:
    """Return whether the first candidate holds an identifier of the query that few records do."""
    candidates, lexical = ranking.retrieved.candidates, ranking.index.lexical
    if not candidates or not ranking.question.identifiers:
        return False
    held = ranking.index.rows.count_terms(candidates[0].position)
    wanted = ranking.question.identifiers
    return any(term in held and lexical.count_records(term) <= _FEW for term in wanted)


def _find_floor(
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
    mode = name_reranked_mode(query.mode, reread_by) if query.rerank else query.mode
    floor = keep_current_floors(index.floors).get(mode)
    if floor is None:
        why = "still building" if index.building else "not calibrated"
        return None, f"{_PLAIN}: {why}"
    if not is_trusted(floor):
        return None, f"{_PLAIN}: the calibrated one separates badly (J {floor.j:.2f})"
    return floor, AUTO
