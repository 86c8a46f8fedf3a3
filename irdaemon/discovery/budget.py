"""Rungs: of the ways to answer, the best that fits into a budget.

From above: with a reranker, hybrid, by words alone, and what was answered to the same query before.
Whether a rung fits is told by how long it took of late; now and then the one asked for is tried all
the same, so that a slow spell is not remembered for ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from irdaemon.runtime.profile import usual
from irdaemon.types import Query, Selection

CACHED = "cached"
# A rung fits when this share of its last so many answers did.
_SHARE, _LAST = 0.95, 100
_TRIED_EVERY = 20
_ANSWERS_REMEMBERED = 256


def rung_of(query: Query) -> str:
    """Return the rung that a query asks for."""
    return "rerank" if query.rerank else query.mode


def fits(query: Query) -> bool:
    """Say whether a query is usually answered within its budget; so it is if nobody knows yet."""
    took = usual(f"rung {rung_of(query)}", _SHARE, _LAST)
    return took is None or took <= query.budget_ms


def lower(query: Query) -> Query | None:
    """Return the query one rung below; None where there is none."""
    if query.rerank:
        return replace(query, rerank=False)
    return replace(query, mode="lexical") if query.mode == "hybrid" else None


def _best_that_fits(query: Query) -> Query | None:
    rung: Query | None = query
    while rung is not None and not fits(rung):
        rung = lower(rung)
    return rung


def _lowest(query: Query) -> Query:
    while (below := lower(query)) is not None:
        query = below
    return query


class Ladder:
    """Answer queries that have a budget from the best rung that fits it."""

    def __init__(self) -> None:
        self._turns = itertools.count(1)
        self._answers: dict[str, Selection] = {}

    def answer(self, query: Query, run: Callable[[Query], Selection]) -> Selection:
        """Return the answer of the best rung; of the lowest that there is, where none fits."""
        key = repr(query)
        chosen = query if next(self._turns) % _TRIED_EVERY == 0 else _best_that_fits(query)
        # What was answered before cannot be fresh.
        if chosen is None and key in self._answers and not query.fresh:
            return replace(self._answers[key], rung=CACHED)
        answer = run(chosen or _lowest(query))
        if len(self._answers) >= _ANSWERS_REMEMBERED:
            self._answers.clear()
        self._answers[key] = answer
        return answer
