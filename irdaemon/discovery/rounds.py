"""Discovery in rounds: the parts of a query that an answer does not serve are asked by themselves.

No model judges. A part is served where something selected has, for that part alone, enough of the
best evidence that there is above a corpus' floor; an answer is sufficient where all parts are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, chain
from typing import Any

from irclient.errors import IRError
from irdaemon.discovery.bounded_loop import LoopBounds, LoopOutcome, LoopStages, run_loop
from irdaemon.discovery.discover import NO_TASK, Models, Trace, answers, discover
from irdaemon.discovery.merge import AS_ASKED, Choosing
from irdaemon.discovery.query import MAX_K
from irdaemon.discovery.subqueries import subqueries
from irdaemon.index import Snapshot
from irdaemon.types import Hit, Query, Selection

_UNSERVED = "unserved"
_JOINED = "; "


def in_rounds(
    snapshot: Snapshot,
    query: Query,
    models: Models,
    pending: int = 0,
    choosing: Choosing = AS_ASKED,
) -> Trace:
    """Answer a valid query as `discover` does, in as many rounds as it asks for.

    The trace is that of the first round, with the selection of the one that is kept. Raises as
    `discover` does in the first round; what a later one fails with is in its record.
    """
    if query.rounds is None:
        return discover(snapshot, query, models, pending, choosing)

    def ask(text: str, k: int) -> Trace:
        asked = replace(query, text=text, k=k, rounds=None)
        return discover(snapshot, asked, models, pending, choosing)

    return _Rounds(ask, query).answered(query.rounds)


def judged(ask: Callable[[str], Trace], text: str, hits: Sequence[Hit]) -> dict[str, Any]:
    """Return whether hits serve every part of a query, the parts that they do not, and evidence.

    `ask` answers a text by itself. A part without a task needs nothing; where none has one, the
    query is judged as a whole. The evidence is the sum, over the parts, of a hit's best score.
    """
    asked = [(part, ask(part)) for part in subqueries(text)]
    having_task = [(part, each) for part, each in asked if each.selection.reason != NO_TASK]
    needed = [(part, each.merged.hits) for part, each in having_task or [(text, ask(text))]]
    unserved = [part for part, found in needed if not (found and answers(found, hits))]
    known = {_key(hit) for hit in hits}
    best = [
        max((hit.score for hit in found if _key(hit) in known), default=0.0) for _, found in needed
    ]
    return {
        "is_sufficient": bool(hits) and not unserved,
        _UNSERVED: unserved,
        "evidence": round(sum(best), 4),
    }


class _Rounds:
    """The stages of one query's rounds, and what the last round asked and committed."""

    def __init__(self, ask: Callable[[str, int], Trace], query: Query):
        self._ask = cache(ask)
        self._query = query
        self._started = time.perf_counter()
        self._top_k = query.k
        self._unserved: list[str] = []
        self._selected: tuple[Hit, ...] = ()
        self._traces: list[list[Trace]] = []

    def answered(self, rounds: int) -> Trace:
        """Run the loop and return its answer."""
        stages = LoopStages(self._retrieve, self._select, self._evaluate, _reformulated, IRError)
        bounds = LoopBounds(rounds, self._query.k, MAX_K, self._query.select.max_k)
        outcome = run_loop(stages, bounds, self._query.text)
        first = self._traces[0][0]
        return replace(first, selection=self._selection(first.selection, outcome))

    def _retrieve(self, query: str, top_k: int) -> list[Hit]:
        """Ask the query, after the first round each part that is not served yet."""
        self._top_k = top_k
        texts = self._unserved or [query]
        self._traces.append([self._ask(text, top_k) for text in texts])
        return list(chain.from_iterable(trace.merged.hits for trace in self._traces[-1]))

    def _select(self, chunks: Sequence[Hit], query: str, limit: int) -> list[Hit]:
        """Commit to what was before, with the first for each part that was asked since ahead.

        Where the whole query is below every floor, only all of its parts together are an answer.
        """
        committed = [trace.selection.results for trace in self._traces[-1]]
        if self._selected:
            committed.insert(0, self._selected)
        elif not all(committed):
            return []
        heads = chain.from_iterable(each[:1] for each in committed)
        tails = chain.from_iterable(each[1:] for each in committed)
        return _falling([*heads, *tails])

    def _evaluate(self, query: str, selected: Sequence[Hit]) -> dict[str, Any]:
        evaluation = judged(lambda text: self._ask(text, self._top_k), query, selected)
        self._unserved, self._selected = evaluation[_UNSERVED], tuple(selected)
        return evaluation

    def _selection(self, first: Selection, outcome: LoopOutcome) -> Selection:
        kept = outcome.rounds[outcome.kept]
        signals = {**first.signals, "n_selected": len(kept.selected), "stopped": outcome.reason}
        if kept.selected:
            weakest = min(hit.score for hit in kept.selected)
            signals["min_ratio"] = round(weakest / kept.selected[0].score, 4)
        if kept.evaluation is not None:
            signals[_UNSERVED] = kept.evaluation[_UNSERVED]
        return replace(
            first,
            results=kept.selected,
            abstained=not kept.selected,
            reason=self._reason(first, kept.selected, outcome.kept),
            signals=signals,
            n_retrieved=len(kept.candidates),
            n_selected=len(kept.selected),
            took_ms=round((time.perf_counter() - self._started) * 1e3, 3),
            rounds=outcome.records(),
        )

    def _reason(self, first: Selection, hits: Sequence[Hit], kept: int) -> str:
        """Return why the kept round stopped where it did: that of its query, if it had one."""
        if not hits:
            return first.reason
        only = self._traces[kept][0].selection
        return only.reason if only.results == tuple(hits) else "subqueries"


def _reformulated(query: str, evaluation: Mapping[str, Any]) -> str:
    """Return the parts that are not served as the next query; the same one, where all are."""
    return _JOINED.join(evaluation[_UNSERVED]) or query


def _falling(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with scores that fall along them, as those of any answer do."""
    lowest = accumulate((hit.score for hit in hits), min)
    return [replace(hit, score=score) for hit, score in zip(hits, lowest, strict=True)]


def _key(hit: Hit) -> tuple[str, str]:
    return str(hit.corpus), hit.artifact_id
