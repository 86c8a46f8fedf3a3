"""Select: commit to few hits, or to none with a typed reason.

Hits come in fused order; every rule here works on their evidence (`hit.score`), where a ratio means
something. Every strategy starts from the best-ranked hit and is cut to `max_k`. The signals of
the decision: `n_candidates`, `top_score`, `min_ratio` (the weakest committed hit's share
of the top), `n_selected`, and `min_score` where a floor was applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from irclient.errors import QueryError
from irclient.types import STRATEGIES
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.types import Hit, SelectSpec

# The floor that is calibrated for each corpus; it is applied before selection (see `threshold`).
AUTO = "auto"
# The share of the top score where none is asked for, and what it is then raised to, by that score.
_REL = 0.9
_CLEAR, _BEHIND_CLEAR, _BEHIND_UNCLEAR = 0.5, 1.5, 5.0

Selector = Callable[[Sequence[Hit]], Sequence[Hit]]


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


def select(hits: Sequence[Hit], spec: SelectSpec, custom: Selector | None = None) -> Choice:
    """Commit to the hits that a valid spec's strategy accepts; `custom` replaces the strategy."""
    signals: dict[str, Any] = {"n_candidates": len(hits), "n_selected": 0}
    if all(hit.score <= 0 for hit in hits):
        return Choice((), True, "no_candidates", signals)
    top = hits[0].score
    signals["top_score"] = top
    if isinstance(spec.min_score, (int, float)):
        signals["min_score"] = spec.min_score
        if top < spec.min_score:
            return Choice((), True, "below_floor", signals)
    found = accepted(hits, spec, custom)
    kept = found.hits[: spec.max_k]
    signals |= {**found.signals, "n_selected": len(kept)}
    if kept and top > 0:
        signals["min_ratio"] = round(min(hit.score for hit in kept) / top, 4)
    if not kept:
        return Choice((), True, found.reason, signals)
    return Choice(kept, False, found.reason, signals)


def relaxed(spec: SelectSpec, hits: Sequence[Hit]) -> SelectSpec:
    """Return a spec whose `rel` is fit for hits as retrieval scores them; one asked for stays.

    What is close behind a clear first is a rival too, and a first with little evidence has rivals
    further off: 0.9 becomes 0.85, and 0.6 below a score of 0.5. docs/retrieval.md has the figures.
    """
    if spec.strategy != "conservative" or spec.rel is not None or not hits:
        return spec
    power = _BEHIND_CLEAR if hits[0].score >= _CLEAR else _BEHIND_UNCLEAR
    return replace(spec, rel=_REL**power)


def rel_of(spec: SelectSpec) -> float:
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
    for name, value in (("rel", rel_of(spec)), ("gap_ratio", spec.gap_ratio)):
        if not _is_number(value) or not 0 <= value <= 1:
            raise QueryError(f"{name} must be a number from 0 to 1, not {value!r}")
    if spec.min_score not in (None, AUTO) and not _is_share(spec.min_score):
        wanted = f"a number from 0 to 1, {AUTO!r} or none"
        raise QueryError(f"min_score must be {wanted}, not {spec.min_score!r}")
    if spec.strategy == "abs_threshold" and custom is None and not _is_number(spec.min_score):
        raise QueryError("abs_threshold needs a min_score", "add --min-score F")


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def accepted(hits: Sequence[Hit], spec: SelectSpec, custom: Selector | None) -> Chosen:
    """Return what a valid spec's strategy, or `custom`, accepts of some hits, uncut."""
    if isinstance(custom, ReasonedSelector):
        return custom.chosen(hits, spec)
    if custom is not None:
        ranked = {id(hit) for hit in hits}
        kept = tuple(hit for hit in custom(hits) if id(hit) in ranked)
        return Chosen(kept, "custom" if kept else "no_candidates")
    if spec.strategy == "conservative":
        return Chosen(*_conservative(hits, spec))
    found = tuple(_SELECTORS[spec.strategy](hits, spec))
    return Chosen(found, spec.strategy if found else "below_floor")


def _conservative(hits: Sequence[Hit], spec: SelectSpec) -> tuple[tuple[Hit, ...], str]:
    top = hits[0].score
    if top <= 0:
        return (hits[0],), "nonpositive_top"
    if len(hits) == 1:
        return (hits[0],), "single"
    for place, hit in enumerate(hits[: spec.max_k]):
        if hit.score / top < rel_of(spec):
            return tuple(hits[:place]), "rel_threshold"
    return tuple(hits[: spec.max_k]), "max_k" if len(hits) > spec.max_k else "exhausted"


def _top_k(hits: Sequence[Hit], spec: SelectSpec) -> list[Hit]:
    return list(hits[: spec.max_k])


def _abs_threshold(hits: Sequence[Hit], spec: SelectSpec) -> list[Hit]:
    assert isinstance(spec.min_score, (int, float))  # see `check_spec`
    return [hit for hit in hits if hit.score >= spec.min_score]


def _rel_threshold(hits: Sequence[Hit], spec: SelectSpec) -> list[Hit]:
    top = hits[0].score
    return [hit for hit in hits if hit.score >= rel_of(spec) * top] if top > 0 else [hits[0]]


def _score_gap(hits: Sequence[Hit], spec: SelectSpec) -> list[Hit]:
    kept = [hits[0]]
    for hit in hits[1:]:
        if kept[-1].score <= 0 or hit.score < spec.gap_ratio * kept[-1].score:
            break
        kept.append(hit)
    return kept


_SELECTORS: dict[str, Callable[[Sequence[Hit], SelectSpec], list[Hit]]] = {
    "top_k": _top_k,
    "abs_threshold": _abs_threshold,
    "rel_threshold": _rel_threshold,
    "score_gap": _score_gap,
}
