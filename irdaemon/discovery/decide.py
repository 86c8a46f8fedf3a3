"""Decide which corpora have an answer and which of their hits to commit, or why to abstain.

Hits come in fused order; every rule here works on their scores: the probability that each is what
the person wants (see irdaemon.discovery.decision), or a reranker's score. Every strategy starts
from the best-ranked hit and is cut to `max_k`. The signals of the decision: `n_candidates`,
`top_score`, `min_ratio` (the weakest committed hit's share of the top), `n_selected`, and
`min_score` if the query set a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

from irclient.errors import QueryError
from irclient.types import STRATEGIES
from irdaemon.discovery.decision import LEAST, is_trusted, is_usable
from irdaemon.discovery.legs import Question
from irdaemon.discovery.rerank import find_best_score
from irdaemon.discovery.retrieve import Retrieved
from irdaemon.index import CorpusIndex
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Floor, Hit, Query, SelectSpec

# The floor that is calibrated for each corpus; it is applied before selection (`apply_floor`).
AUTO = "auto"
# The share of the top score that hits of unknown probability must reach.
_REL = 0.9

Selector = Callable[[Sequence[Hit]], Sequence[Hit]]


class Scored(Protocol):
    """An item that is selected by its score: a hit, or a candidate that a hit can be made of."""

    @property
    def score(self) -> float:
        """Return its score, 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The committed hits, and why it stopped there; `candidates` are the hits it chose from."""

    hits: tuple[Hit, ...]
    reason: str
    signals: dict[str, Any] = field(default_factory=dict)
    candidates: tuple[Hit, ...] = ()

    @property
    def abstained(self) -> bool:
        """Return whether nothing was committed."""
        return not self.hits

    @property
    def selected(self) -> tuple[Hit, ...]:
        """Return the committed hits."""
        return self.hits

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {"abstained": self.abstained, "reason": self.reason, "signals": self.signals}
        return {"hits": [hit.to_dict() for hit in self.hits], **plain}


@runtime_checkable
class ReasonedSelector(Protocol):
    """A selector that gives reasons; if it abstains, its reason is the answer's."""

    def __call__(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that it accepts."""
        ...

    def choose_hits(self, hits: Sequence[Hit], spec: SelectSpec) -> Choice:
        """Return the hits that it accepts, at most as many as the spec allows, and why."""
        ...


def select(
    found: Sequence[Scored],
    spec: SelectSpec,
    custom: Selector | None = None,
    show: Callable[[Any], Hit] = lambda hit: cast(Hit, hit),
) -> Choice:
    """Commit to the hits that a valid spec's strategy accepts; `custom` replaces the strategy.

    `show` makes a hit of a candidate: of every one for a custom selector, otherwise only of
    committed ones.
    """
    signals: dict[str, Any] = {"n_candidates": len(found), "n_selected": 0}
    if all(each.score <= 0 for each in found):
        return Choice((), "no_candidates", signals)
    top = found[0].score
    signals["top_score"] = top
    if is_number(spec.min_score):
        signals["min_score"] = spec.min_score
        if top < spec.min_score:
            return Choice((), "below_floor", signals)
    if custom is None:
        places, reason = choose_places([each.score for each in found], spec)
        choice = Choice(tuple(show(found[place]) for place in places[: spec.max_k]), reason)
    else:
        choice = ask_selector(custom, tuple(map(show, found)), spec)
    kept = choice.hits[: spec.max_k]
    signals |= {**choice.signals, "n_selected": len(kept)}
    if kept and top > 0:
        signals["min_ratio"] = round(min(hit.score for hit in kept) / top, 4)
    return Choice(kept, choice.reason, signals)


def ask_selector(custom: Selector, hits: Sequence[Hit], spec: SelectSpec) -> Choice:
    """Return the hits that a selector accepts, and why."""
    if isinstance(custom, ReasonedSelector):
        return custom.choose_hits(hits, spec)
    ranked = {id(hit) for hit in hits}
    kept = tuple(hit for hit in custom(hits) if id(hit) in ranked)
    return Choice(kept, "custom" if kept else "no_candidates")


def fill_rel(spec: SelectSpec, hits: Sequence[Scored]) -> SelectSpec:
    """Return a spec whose `rel`, unless set already, is that of half the odds of the first."""
    if spec.strategy != "conservative" or spec.rel is not None or not hits:
        return spec
    # For a top probability p it is the share at which the odds are half of those of p.
    return replace(spec, rel=1 / (2 - min(hits[0].score, 1.0)))


def resolve_rel(spec: SelectSpec) -> float:
    """Return the share of the top score that a spec wants."""
    return _REL if spec.rel is None else spec.rel


def check_spec(spec: SelectSpec, custom: Selector | None = None) -> None:
    """Raise QueryError for a spec that cannot be followed."""
    if custom is None and spec.strategy not in STRATEGIES:
        raise QueryError(
            f"unknown selection strategy {spec.strategy!r}"
            f"{did_you_mean(spec.strategy, STRATEGIES)}",
            f"use one of: {', '.join(STRATEGIES)}",
        )
    if not isinstance(spec.max_k, int) or isinstance(spec.max_k, bool) or spec.max_k < 1:
        raise QueryError(f"max_k must be a whole number of at least 1, not {spec.max_k!r}")
    for name, value in (("rel", resolve_rel(spec)), ("gap_ratio", spec.gap_ratio)):
        if not is_weight(value, 1):
            raise QueryError(f"{name} must be a number from 0 to 1, not {value!r}")
    if spec.min_score not in (None, AUTO) and not is_weight(spec.min_score, 1):
        wanted = f"a number from 0 to 1, {AUTO!r} or none"
        raise QueryError(f"min_score must be {wanted}, not {spec.min_score!r}")
    if spec.strategy == "abs_threshold" and custom is None and spec.min_score in (None, AUTO):
        raise QueryError("abs_threshold needs a min_score", "add --min-score F")


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number, and not a bool."""
    # Nearly all are floats, and an isinstance check for Real takes five times as long.
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def is_weight(value: Any, most: float = math.inf) -> bool:
    """Return whether a value is a finite number from 0 to `most`."""
    return is_number(value) and 0 <= value <= most and value != math.inf


def choose_places(scores: Sequence[float], spec: SelectSpec) -> tuple[Sequence[int], str]:
    """Return the places in an order that a valid spec's strategy accepts, uncut, and the reason."""
    top, rel, n = scores[0], resolve_rel(spec), len(scores)
    if spec.strategy == "conservative":
        if top <= 0:
            return range(1), "nonpositive_top"
        if n == 1:
            return range(1), "single"
        first = scores[: spec.max_k]
        if (low := next((at for at, score in enumerate(first) if score / top < rel), None)) is None:
            return range(len(first)), "max_k" if n > spec.max_k else "exhausted"
        return range(low), "rel_threshold"
    places: Sequence[int]
    if spec.strategy == "top_k":
        places = range(min(spec.max_k, n))
    elif spec.strategy == "abs_threshold":
        assert is_number(spec.min_score)  # see `check_spec`
        places = [place for place, score in enumerate(scores) if score >= spec.min_score]
    elif spec.strategy == "rel_threshold":
        places = [place for place, score in enumerate(scores) if score >= rel * top]
        places = range(1) if top <= 0 else places
    else:  # score_gap
        pairs = enumerate(pairwise(scores), start=1)
        gaps = (at for at, (one, behind) in pairs if one <= 0 or behind < spec.gap_ratio * one)
        places = range(next(gaps, n))
    return places, spec.strategy if places else "below_floor"


# Thresholds: which corpora have an answer, each by its own, before they are merged.
#
# `auto` is LEAST, or the floor set by labelled queries of the corpus; a number is used as it is.
# The best score in the corpus is compared with it. An artifact called by its exact name is above
# any threshold.


def keep_current_floors(floors: Mapping[str, Floor]) -> dict[str, Floor]:
    """Return the floors that the formulas of this version can use, by mode."""
    return {
        mode: floor for mode, floor in floors.items() if is_usable(floor) and floor.mode == mode
    }


def name_reranked_mode(mode: str, reread_by: str) -> str:
    """Return the mode under which the floors of answers reranked by a model are stored."""
    return f"{mode}+rerank:{reread_by}"


@dataclass(frozen=True, slots=True)
class CorpusRanking:
    """The candidates of one corpus for one query, and whether they are above its floor.

    `least` is the required score; `floor` is the calibrated floor if one was applied, or None;
    `why` says where `least` comes from. `top_score` is the best score of any candidate.
    """

    index: CorpusIndex
    question: Question
    retrieved: Retrieved
    floor: Floor | None
    why: str
    least: float
    above_floor: bool
    top_score: float = 0.0

    @property
    def cut(self) -> bool:
        """Return whether there may be more candidates than were retrieved."""
        return len(self.retrieved.candidates) >= self.question.k

    def describe(self) -> dict[str, Any]:
        """Return what an answer reports about this corpus."""
        floor: dict[str, Any] = {"kind": self.why}
        if self.least:
            floor["at_least"] = round(self.least, 4)
        if self.floor is not None:
            floor |= {
                "j": self.floor.j,
                "n": self.floor.n_inside + self.floor.n_outside,
                "labelled": self.floor.labelled,
                "calibrated_at": self.floor.calibrated_at,
            }
        return {
            "n_candidates": len(self.retrieved.candidates),
            "top_score": round(self.top_score, 4),
            "confidence": round(self.top_score, 4),
            "above_floor": self.above_floor,
            "floor": floor,
        }


def apply_floor(
    index: CorpusIndex, question: Question, retrieved: Retrieved, query: Query, reread_by: str = ""
) -> CorpusRanking:
    """Return the candidates of a corpus, compared with the floor that the query asks for.

    `reread_by` names the model that reranked the candidates: it has separate floors.
    """
    floor, least, why = _find_floor(index, query, reread_by)
    top = max((each.score for each in retrieved.candidates), default=0.0)
    best = top
    if query.rerank and top < 1:  # an exact name has 1, whatever a model makes of it
        best = find_best_score(retrieved)
    return CorpusRanking(index, question, retrieved, floor, why, least, best >= least, top)


def _find_floor(
    index: CorpusIndex, query: Query, reread_by: str
) -> tuple[Floor | None, float, str]:
    """Return the calibrated floor, the required score, and where that comes from."""
    asked = query.select.min_score
    if asked is None:
        return None, 0.0, "none: not asked for"
    if is_number(asked):
        return None, float(asked), "given"
    mode = name_reranked_mode(query.mode, reread_by) if query.rerank else query.mode
    floor = index.floors.get(mode)
    if floor is not None and not (is_usable(floor) and floor.mode == mode):
        floor = None
    usual = 0.0 if query.rerank else LEAST
    if query.rerank and not reread_by:
        return None, usual, f"{_PLAIN}: nothing names the reranker"
    if floor is None:
        return None, usual, f"{_PLAIN}: {'still building' if index.building else 'not calibrated'}"
    if not is_trusted(floor):
        return None, usual, f"{_PLAIN}: its own separates badly (J {floor.j:.2f})"
    return floor, floor.at_least, AUTO


_PLAIN = "plain"
