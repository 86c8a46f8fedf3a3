"""Tiers: of the ways to answer a query, the best that fits into its budget.

From the best down: with a reranker, hybrid, by words alone, and the last answer to the same query.
A tier fits if its recent answers took no longer; now and then the one asked for is tried all the
same, so that a slow spell does not last for ever.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace

from irdaemon.discovery.query import ParsedQuery
from irdaemon.types import Selection

CACHED = "cached"
# By mode, that of the lowest tier.
_LOWEST = {"hybrid": "lexical", "lexical": "lexical", "dense": "dense"}
# A tier fits when this share of its last so many answers did.
_SHARE, _LAST = 0.95, 100
_TRIED_EVERY = 20
_ANSWERS_REMEMBERED = 256


def name_tier(query: ParsedQuery) -> str:
    """Return the tier that a query asks for."""
    return "rerank" if query.rerank else query.mode


def lower_tier(query: ParsedQuery) -> ParsedQuery | None:
    """Return the query one tier below; None where there is none."""
    if query.rerank:
        return replace(query, rerank=False)
    return replace(query, mode="lexical") if query.mode == "hybrid" else None


class TierTimes:
    """How long the last answers of each tier took, in milliseconds; at most 100 of each."""

    def __init__(self) -> None:
        self._took: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST))

    def note(self, tier: str, ms: float) -> None:
        """Keep how long an answer took."""
        self._took[tier].append(ms)

    def fits(self, query: ParsedQuery) -> bool:
        """Return whether a query is usually answered within its budget; true if none was yet."""
        took = sorted(list(self._took[name_tier(query)]))
        at = min(len(took) - 1, int(len(took) * _SHARE))
        return not took or took[at] <= query.budget_ms

    def find_best_fitting(self, query: ParsedQuery) -> ParsedQuery | None:
        """Return the query at the best tier that fits its budget; None where none does."""
        tier: ParsedQuery | None = query
        while tier is not None and not self.fits(tier):
            tier = lower_tier(tier)
        return tier


class Tiers:
    """Answer queries, those that have a budget at the best tier that fits it."""

    def __init__(self, times: TierTimes) -> None:
        self._times = times
        self._turns = itertools.count(1)
        self._answers: dict[str, Selection] = {}

    def answer(self, query: ParsedQuery, run: Callable[[ParsedQuery], Selection]) -> Selection:
        """Return the answer at the best tier; at the lowest there is, where none fits."""
        if not query.budget_ms:
            return self._answer_timed(query, run)
        key = repr(query)
        as_asked = next(self._turns) % _TRIED_EVERY == 0
        chosen = query if as_asked else self._times.find_best_fitting(query)
        # An answer from before cannot be fresh.
        if chosen is None and key in self._answers and not query.fresh:
            return replace(self._answers[key], tier=CACHED)
        answer = self._answer_timed(
            chosen or replace(query, rerank=False, mode=_LOWEST[query.mode]), run
        )
        if len(self._answers) >= _ANSWERS_REMEMBERED:
            self._answers.clear()
        self._answers[key] = answer
        return answer

    def _answer_timed(
        self, query: ParsedQuery, run: Callable[[ParsedQuery], Selection]
    ) -> Selection:
        answer = run(query)
        if query.rounds is None:  # the time of several rounds says nothing of a tier
            self._times.note(answer.tier, answer.took_ms)
        return answer
