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


class Tiers:
    """Answer queries, those that have a budget at the best tier that fits it.

    The times of the last hundred answers of each tier are kept, in milliseconds.
    """

    def __init__(self) -> None:
        self._took: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_LAST))
        self._turns = itertools.count(1)
        self._answers: dict[tuple[str, str], Selection] = {}

    def answer(
        self,
        query: ParsedQuery,
        run: Callable[[ParsedQuery], Selection],
        operation: str = "discover",
    ) -> Selection:
        """Return the answer at the best tier; at the lowest there is, where none fits."""
        if not query.budget_ms:
            answer = run(query)
        else:
            key = operation, repr(query)
            as_asked = next(self._turns) % _TRIED_EVERY == 0
            chosen = query if as_asked else self.choose_tier(query)
            # An answer from before cannot be fresh.
            if chosen is None and key in self._answers and not query.fresh:
                return replace(self._answers[key], tier=CACHED)
            answer = run(chosen or replace(query, rerank=False, mode=_LOWEST[query.mode]))
            if len(self._answers) >= _ANSWERS_REMEMBERED:
                self._answers.clear()
            self._answers[key] = answer
        if query.rounds is None:  # the time of several rounds says nothing of a tier
            self._took[answer.tier].append(answer.took_ms)
        return answer

    def choose_tier(self, query: ParsedQuery) -> ParsedQuery | None:
        """Return the query at the best tier that usually fits its budget; None where none does.

        A tier without an answer yet fits.
        """
        tiers = [query, replace(query, rerank=False)] if query.rerank else [query]
        if query.mode == "hybrid":
            tiers.append(replace(query, rerank=False, mode="lexical"))
        for tier in tiers:
            took = sorted(list(self._took[name_tier(tier)]))
            if not took or took[min(len(took) - 1, int(len(took) * _SHARE))] <= query.budget_ms:
                return tier
        return None

    def forget_answers(self) -> None:
        """Drop the answers that are kept, not how long the tiers take."""
        self._answers = {}
