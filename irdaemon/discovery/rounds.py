"""Discovery in rounds: the parts of a query that an answer does not serve are queried separately.

No model judges. A part is served if a selected hit has, for that part alone, enough of the best
evidence above a corpus' floor; an answer is sufficient if all parts are served.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, chain
from typing import Any, TypeGuard

import numpy as np

from irclient.errors import IRError, QueryError
from irclient.types import Round
from irdaemon.discovery.discover import NO_TASK, Models, Trace, discover, is_answered
from irdaemon.discovery.merge import DEFAULT_OPTIONS, SelectionOptions
from irdaemon.discovery.query import MAX_K, ParsedQuery
from irdaemon.discovery.retrieve import Candidate
from irdaemon.discovery.variants import split_query
from irdaemon.index import Snapshot
from irdaemon.types import Hit, Selection

# The bounded loop: retrieve, select, evaluate, and again, wider, until that is sufficient.
#
# It does not know the index: the stages are functions, and a chunk is any value they pass on. A
# round is not begun if it cannot find anything new.

Chunk = Any
Evaluation = Mapping[str, Any]

SUFFICIENT = "sufficient"
# A round found fewer candidates than it asked for: there are no more.
EXHAUSTED = "exhausted"
# A round with the same `top_k` as the one before found the same.
UNCHANGED = "unchanged"
MAX_ROUNDS = "max_rounds"
FAILED = "failed"
_VERDICT = "is_sufficient"
# The fields that identify a chunk; the first one present counts.
_NAMED_BY = ("id", "text", "content")


@dataclass(frozen=True, slots=True)
class LoopStages:
    """The functions of a round, in their order.

    `select` and `evaluate` take the original query, `reformulate` the one just retrieved with. An
    exception in `caught` ends the loop and is kept; any other is raised.
    """

    retrieve: Callable[[str, int], object]
    select: Callable[[Sequence[Chunk], str, int], object]
    evaluate: Callable[[str, Sequence[Chunk]], object]
    reformulate: Callable[[str, Evaluation], object] | None = None
    caught: type[Exception] = Exception


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """How often and how wide to retrieve: a retry by the first `top_k` wider, up to `max_top_k`.

    `limit` is how many chunks a round may select.
    """

    max_rounds: int
    top_k: int
    max_top_k: int | None
    limit: int


@dataclass(frozen=True, slots=True)
class LoopRound:
    """One round as far as it got; `n_found` counts the retrieved chunks, copies among them.

    `candidates` are all chunks retrieved so far, new ones first, each once.
    """

    query: str
    top_k: int
    n_found: int = 0
    candidates: tuple[Chunk, ...] = ()
    selected: tuple[Chunk, ...] = ()
    evaluation: Evaluation | None = None
    evidence: float = 0.0
    next_query: str = ""
    failure: Exception | None = None

    @property
    def sufficient(self) -> bool:
        """Return the evaluator's verdict."""
        return self.evaluation is not None and self.evaluation[_VERDICT]

    def record(self) -> Round:
        """Return it in the form of an answer."""
        failure = self.failure
        return Round(
            query=self.query,
            top_k=self.top_k,
            n_candidates=len(self.candidates),
            n_selected=len(self.selected),
            sufficient=self.sufficient,
            evidence=round(self.evidence, 4),
            error="" if failure is None else f"{type(failure).__name__}: {failure}",
        )


@dataclass(frozen=True, slots=True)
class LoopOutcome:
    """All rounds, the number (from 0) of the kept one, and why there was no further one."""

    rounds: tuple[LoopRound, ...]
    kept: int
    reason: str

    def records(self) -> tuple[Round, ...]:
        """Return the rounds in the form of an answer."""
        return tuple(each.record() for each in self.rounds)


def run_loop(stages: LoopStages, bounds: LoopBounds, query: str) -> LoopOutcome:
    """Run rounds until one is sufficient, none can find more, or `max_rounds` were run.

    The sufficient round is kept, else the one with most evidence, of equals the earliest. A failing
    stage ends the loop: the results so far are kept. Raises its exception if there are none.
    """
    rounds: list[LoopRound] = []
    asked = LoopRound(query, bounds.top_k)
    while True:
        rounds.append(_run_round(stages, bounds, query, asked, rounds))
        if reason := _explain_stop(rounds, bounds):
            return LoopOutcome(tuple(rounds), _choose_round(rounds), reason)
        wider = asked.top_k + bounds.top_k
        wider = wider if bounds.max_top_k is None else min(wider, bounds.max_top_k)
        asked = LoopRound(rounds[-1].next_query, wider)


def _run_round(
    stages: LoopStages, bounds: LoopBounds, query: str, done: LoopRound, before: Sequence[LoopRound]
) -> LoopRound:
    """Run the stages of a round, as far as they succeed."""
    try:
        found = _check_chunks("retriever", stages.retrieve(done.query, done.top_k))[: done.top_k]
        known = before[-1].candidates if before else ()
        done = replace(done, n_found=len(found), candidates=_drop_repeats((*found, *known)))
        selected = _check_chunks("selector", stages.select(done.candidates, query, bounds.limit))
        selected = _drop_repeats(selected)[: bounds.limit]
        done = replace(done, selected=selected, evidence=_sum_evidence(selected))
        evaluation = _check_evaluation(stages.evaluate(query, selected))
        evidence = evaluation.get("evidence")
        evidence = float(evidence) if _is_finite(evidence) else done.evidence
        done = replace(done, evaluation=evaluation, evidence=evidence)
        if done.sufficient or len(before) + 1 >= bounds.max_rounds:
            return done
        if stages.reformulate is None:
            return replace(done, next_query=done.query)
        given = stages.reformulate(done.query, evaluation)
        if not isinstance(given, str) or not given.strip():
            raise QueryError(f"the reformulation must be a text with words, not {given!r:.80}")
        return replace(done, next_query=given)
    except stages.caught as error:
        return replace(done, failure=error)


def _explain_stop(rounds: Sequence[LoopRound], bounds: LoopBounds) -> str:
    """Return why there is no further round, or ""."""
    last = rounds[-1]
    if last.failure is not None:
        return FAILED
    if last.sufficient:
        return SUFFICIENT
    if len(rounds) == bounds.max_rounds:
        return MAX_ROUNDS
    if last.next_query != last.query:
        return ""
    if last.n_found < last.top_k:
        return EXHAUSTED
    return UNCHANGED if len(rounds) > 1 and _has_found_same(rounds[-2], last) else ""


def _has_found_same(one: LoopRound, other: LoopRound) -> bool:
    if (one.query, one.top_k) != (other.query, other.top_k):
        return False
    return list(map(_identify, one.candidates)) == list(map(_identify, other.candidates))


def _choose_round(rounds: Sequence[LoopRound]) -> int:
    """Return the number of the round to keep; raise the failure if nothing was found."""
    last = len(rounds) - 1
    if rounds[last].sufficient:
        return last
    judged = [number for number, each in enumerate(rounds) if each.evaluation is not None]
    best = max(
        judged,
        key=lambda number: (bool(rounds[number].selected), rounds[number].evidence),
        default=0,
    )
    failure = rounds[last].failure
    if failure is None or (judged and rounds[best].selected):
        return best
    # A stage that returns the wrong type is a bug: raise.
    if rounds[last].selected and not isinstance(failure, QueryError):
        return last
    raise failure


# -- what the stages give ------------------------------------------------------------------------


def _check_chunks(stage: str, given: object) -> tuple[Chunk, ...]:
    """Return a stage's chunks. Raises QueryError for anything but a list."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise QueryError(f"the {stage} must return a list of chunks, not {given!r:.80}")
    return tuple(given)


def _check_evaluation(given: object) -> Evaluation:
    """Return an evaluation as a mapping. Raises QueryError for anything else."""
    if isinstance(given, (bool, np.bool_)):
        return {_VERDICT: bool(given)}
    if isinstance(given, Mapping) and isinstance(given.get(_VERDICT), (bool, np.bool_)):
        return {**given, _VERDICT: bool(given[_VERDICT])}
    raise QueryError(
        f"the evaluator returned {given!r:.80}", f"return a bool, or a mapping with {_VERDICT!r}"
    )


def _drop_repeats(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Return each chunk once, at its first place."""
    first: dict[object, Chunk] = {}
    for chunk in chunks:
        first.setdefault(_identify(chunk), chunk)
    return tuple(first.values())


def _identify(chunk: Chunk) -> object:
    """Return a chunk's identity: an artifact's place, an id, a text, else its value."""
    if isinstance(chunk, Hit):
        return str(chunk.corpus), chunk.artifact_id
    for name in _NAMED_BY:
        value = _get_part(chunk, name)
        if isinstance(value, (str, int)) and value != "":
            return name, value
    return repr(chunk)


def _get_part(chunk: Chunk, name: str) -> object:
    return chunk.get(name) if isinstance(chunk, Mapping) else getattr(chunk, name, None)


def _sum_evidence(selected: Sequence[Chunk]) -> float:
    """Return the sum of the chunks' scores, or their number if none has a score."""
    scores = [score for each in selected if _is_finite(score := _get_part(each, "score"))]
    return float(sum(scores)) if scores else float(len(selected))


def _is_finite(value: Any) -> TypeGuard[float]:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number and math.isfinite(value)


_UNSERVED = "unserved"
_JOINED = "; "


def discover_in_rounds(
    snapshot: Snapshot,
    query: ParsedQuery,
    models: Models,
    pending: int = 0,
    options: SelectionOptions = DEFAULT_OPTIONS,
) -> Trace:
    """Answer a valid query as `discover` does, in as many rounds as it asks for.

    The trace is that of the first round, with the selection of the kept one. Raises as `discover`
    does in the first round; the failure of a later one is in its record.
    """
    if query.rounds is None:
        return discover(snapshot, query, models, pending, options)

    def ask(text: str, k: int) -> Trace:
        asked = replace(query, text=text, k=k, rounds=None)
        return discover(snapshot, asked, models, pending, options)

    return _Rounds(ask, query).answered(query.rounds)


def judge_coverage(ask: Callable[[str], Trace], text: str, hits: Sequence[Hit]) -> dict[str, Any]:
    """Return whether hits serve every part of a query, the unserved parts, and the evidence.

    `ask` answers a single text. A part without a task needs nothing; if no part has one, the query
    is judged as a whole. The evidence is the sum, over the parts, of a hit's best score.
    """
    asked = [(part, ask(part)) for part in split_query(text)]
    having_task = [(part, each) for part, each in asked if each.selection.reason != NO_TASK]
    needed = [(part, each.merged.found) for part, each in having_task or [(text, ask(text))]]
    unserved = [part for part, found in needed if not (found and is_answered(found, hits))]
    known = {_get_key(hit) for hit in hits}
    best = [
        max((hit.score for hit in found if _get_key(hit) in known), default=0.0)
        for _, found in needed
    ]
    return {
        "is_sufficient": bool(hits) and not unserved,
        _UNSERVED: unserved,
        "evidence": round(sum(best), 4),
    }


class _Rounds:
    """The stages of one query's rounds, and the queries and hits of the last round."""

    def __init__(self, ask: Callable[[str, int], Trace], query: ParsedQuery):
        self._ask = cache(ask)
        self._query = query
        self._started = time.perf_counter()
        self._top_k = query.k
        self._unserved: list[str] = []
        self._selected: tuple[Hit, ...] = ()
        self._traces: list[list[Trace]] = []

    def answered(self, rounds: int) -> Trace:
        """Run the loop and return its answer."""
        stages = LoopStages(self._retrieve, self._select, self._evaluate, _reformulate, IRError)
        bounds = LoopBounds(rounds, self._query.k, MAX_K, self._query.select.max_k)
        outcome = run_loop(stages, bounds, self._query.text)
        first = self._traces[0][0]
        return replace(first, selection=self._selection(first.selection, outcome))

    def _retrieve(self, query: str, top_k: int) -> list[Hit]:
        """Run the query or, after the first round, each unserved part."""
        self._top_k = top_k
        texts = self._unserved or [query]
        self._traces.append([self._ask(text, top_k) for text in texts])
        return [each.make_hit(False) for trace in self._traces[-1] for each in trace.merged.found]

    def _select(self, chunks: Sequence[Hit], query: str, limit: int) -> list[Hit]:
        """Commit to the earlier hits, with the first hit of each newly queried part ahead.

        If the whole query is below every floor, only all of its parts together are an answer.
        """
        committed = [trace.selection.results for trace in self._traces[-1]]
        if self._selected:
            committed.insert(0, self._selected)
        elif not all(committed):
            return []
        heads = chain.from_iterable(each[:1] for each in committed)
        tails = chain.from_iterable(each[1:] for each in committed)
        hits = [*heads, *tails]
        lowest = accumulate((hit.score for hit in hits), min)
        return [replace(hit, score=score) for hit, score in zip(hits, lowest, strict=True)]

    def _evaluate(self, query: str, selected: Sequence[Hit]) -> dict[str, Any]:
        evaluation = judge_coverage(lambda text: self._ask(text, self._top_k), query, selected)
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
        reason = first.reason
        if kept.selected:  # the reason of the round's query, if it had only one
            only = self._traces[outcome.kept][0].selection
            reason = only.reason if only.results == kept.selected else "subqueries"
        return replace(
            first,
            results=kept.selected,
            abstained=not kept.selected,
            reason=reason,
            signals=signals,
            n_retrieved=len(kept.candidates),
            n_selected=len(kept.selected),
            took_ms=round((time.perf_counter() - self._started) * 1e3, 3),
            rounds=outcome.records(),
        )


def _reformulate(query: str, evaluation: Mapping[str, Any]) -> str:
    """Return the unserved parts as the next query; the same query if all are served."""
    return _JOINED.join(evaluation[_UNSERVED]) or query


def _get_key(hit: Hit | Candidate) -> tuple[str, str]:
    return str(hit.corpus), hit.artifact_id
