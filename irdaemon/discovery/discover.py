"""The read path on one page: a valid query and a snapshot become a selection, and its trace.

Per asked corpus: filter, rank, fuse (retrieve), and compare what was found with the corpus' floor.
Then: merge the rankings above their floors by confidence, join duplicates, select or abstain. It
reads one immutable snapshot and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Any

from irdaemon.disclosure.hidden import hidden_in, hidden_in_names
from irdaemon.discovery.budget import tier_of
from irdaemon.discovery.query import ANALYSED_CHARS, Embed, analysed, embedded, narrowed
from irdaemon.discovery.respell import in_words, respelled
from irdaemon.embed.rerankers import NOT_CONFIGURED, Reranker
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.retrieve import Candidate, Question, retrieve
from irdaemon.retrieve.rerank import reranked
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.profile import note, stage
from irdaemon.selection.dedupe import joined
from irdaemon.selection.strategies import AUTO, Choice, Selector, relaxed, select
from irdaemon.selection.subqueries import subqueries
from irdaemon.selection.threshold import CorpusRanking, ranking_of
from irdaemon.text.tasks import has_task
from irdaemon.types import Hit, Query, Selection

# A hit with this share of the best evidence for a sub-query answers that too.
_ANSWERS = 0.3
# What a prompt without a task needs: only what it calls by name has full evidence.
_WITHOUT_TASK = 1.0
NO_TASK = "no_task"
_WITHOUT_ONE = {"below_floor": NO_TASK, "no_candidates": NO_TASK}


@dataclass(frozen=True, slots=True)
class Models:
    """The models a query may need.

    `embed(text, embedder id)` gives the query's vector, or None where that embedder is not ready.
    """

    embed: Embed
    reranker: Reranker = NOT_CONFIGURED


@dataclass(frozen=True, slots=True)
class Merged:
    """The ranking of every asked corpus, and the hits merged of those above their floor.

    Those hits have no summaries where most of them will not be shown.
    """

    rankings: tuple[CorpusRanking, ...]
    hits: tuple[Hit, ...]

    @property
    def legs(self) -> list[str]:
        """Name the legs that took part anywhere."""
        return sorted({leg for each in self.rankings for leg in each.retrieved.took_part})

    def summarised(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return some of the hits, with their summaries."""
        found = {
            (each.index.corpus, candidate.card.artifact_id): candidate
            for each in self.rankings
            for candidate in each.retrieved.candidates
        }
        return tuple(
            replace(hit, summary=found[hit.corpus, hit.artifact_id].summary) for hit in hits
        )

    @property
    def signals(self) -> dict[str, Any]:
        """Return what was found in each corpus, and the floor it was compared with."""
        return {"per_source": {each.index.corpus: each.signals() for each in self.rankings}}


@dataclass(frozen=True, slots=True)
class Trace:
    """What each stage of one query gave, down to the selection that answers it."""

    query: Query
    merged: Merged
    choice: Choice
    selection: Selection


@dataclass(frozen=True, slots=True)
class _Run:
    """One query under way: what it is asked of, since when, and how many changes wait."""

    snapshot: Snapshot
    query: Query
    models: Models
    pending: int
    started: float


def discover(
    snapshot: Snapshot,
    query: Query,
    models: Models,
    pending: int = 0,
    custom: Selector | None = None,
) -> Trace:
    """Answer a valid query with few hits, or with none and a typed reason.

    One that nothing answers is asked once more with the words that no corpus holds respelled.

    Raises NotFound for an unknown corpus, QueryError for an unknown field, Unavailable where a
    model is missing.
    """
    started = time.perf_counter()
    query, has_task = _with_floor_for_its_task(query)
    run = _Run(narrowed(snapshot, query), query, models, pending, started)
    trace = _discovered(run, has_task, custom)
    if has_task and custom is None and not trace.merged.hits:
        return _respelled(run) or trace
    return trace


def _respelled(run: _Run) -> Trace | None:
    """Ask once more, with words in place of those that no corpus holds; None if that is no use."""
    with stage("respell"):
        words = respelled(run.snapshot, run.query.text[:ANALYSED_CHARS])
    if not words:
        return None
    again = replace(run, query=replace(run.query, text=in_words(run.query.text, words)))
    trace = _discovered(again, True, None)
    if trace.selection.abstained:
        return None
    signals = {**trace.selection.signals, "respelled": words}
    return replace(trace, selection=replace(trace.selection, query=run.query.text, signals=signals))


def _discovered(run: _Run, has_task: bool, custom: Selector | None) -> Trace:
    """Ask the corpora once, and select."""
    query = run.query
    # A selector that is not ours may read summaries.
    merged = _merged(run, query, summarised=custom is not None)
    with stage("select"):
        choice = select(merged.hits, relaxed(query.select, merged.hits), custom)
        if custom is None:
            choice = replace(choice, hits=merged.summarised(choice.hits))
    if choice.abstained and not merged.hits:
        reason = _why_empty(merged, query)
        choice = replace(choice, reason=reason if has_task else _WITHOUT_ONE.get(reason, reason))
    elif custom is None and choice.hits and _may_have_subqueries(query):
        with stage("subqueries"):
            choice = _with_subqueries(choice, run)
    return _trace(run, merged, choice)


def _with_floor_for_its_task(query: Query) -> tuple[Query, bool]:
    """Return a query, and whether it has a task; one without is answered by what it names only."""
    if query.select.min_score != AUTO or has_task(query.text):
        return query, True
    return replace(query, select=replace(query.select, min_score=_WITHOUT_TASK)), False


def search(snapshot: Snapshot, query: Query, models: Models, pending: int = 0) -> Trace:
    """Return the ranked candidates of a query: no floor, no selection, exact duplicates joined."""
    started = time.perf_counter()
    run = _Run(narrowed(snapshot, query), query, models, pending, started)
    rankings = _rankings(run, query)
    hits = tuple(islice(joined(_interleaved(rankings)), query.k))
    merged = Merged(rankings, hits)
    signals = {"n_candidates": len(hits), "n_selected": len(hits)}
    reason = "ranked" if hits else _why_empty(merged, query)
    return _trace(run, merged, Choice(hits, not hits, reason, signals))


# -- from the asked corpora to merged hits -------------------------------------------------------


def _merged(run: _Run, query: Query, summarised: bool = False) -> Merged:
    """Ask every corpus, merge the rankings above their floor, join duplicates; at most `k` hits."""
    rankings = _rankings(run, query)
    with stage("merge"):
        candidates = _interleaved([each for each in rankings if each.above_floor])
        hits = joined(candidates, near=True, summarised=summarised)
        return Merged(rankings, tuple(islice(hits, query.k)))


def _rankings(run: _Run, query: Query) -> tuple[CorpusRanking, ...]:
    """Analyse a query once, and ask every corpus."""
    check_clock()
    with stage("analyse"):
        question = analysed(query, run.snapshot.vocabulary)
        asked = [
            (index, embedded(question, index, run.models.embed))
            for index in run.snapshot.corpora.values()
        ]
    return tuple(_ranking(index, question, query, run.models.reranker) for index, question in asked)


def _ranking(
    index: CorpusIndex, question: Question, query: Query, reranker: Reranker
) -> CorpusRanking:
    """Retrieve from one corpus, and compare what was found with its floor."""
    retrieved = retrieve(index, question)
    if query.rerank:
        with stage("rerank"):
            retrieved = reranked(retrieved, query.text, reranker)
    with stage("threshold"):
        return ranking_of(index, question, retrieved, query)


def _interleaved(rankings: Sequence[CorpusRanking]) -> list[Candidate]:
    """Interleave the corpora's rankings: next comes the head that is most unusual for its corpus.

    Each corpus' own order is kept. Across corpora deviations from what is usual compare, and where
    one of them has no floor evidence does; raw scores never. No score exceeds one before it.
    """
    rankings = [each for each in rankings if each.retrieved.candidates]
    if len(rankings) == 1:
        return list(rankings[0].retrieved.candidates)
    calibrated = all(each.floor is not None for each in rankings)
    waiting = [
        [
            (ranking.distinction_of(each) if calibrated else each.score, each)
            for each in reversed(ranking.retrieved.candidates)
        ]
        for ranking in rankings
    ]
    merged: list[Candidate] = []
    while waiting := [ranking for ranking in waiting if ranking]:
        best = max(waiting, key=lambda ranking: ranking[-1][0])
        merged.append(best.pop()[1])
    return _falling(merged)


def _falling(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in their order, each with no more score than the one before it."""
    lowest = accumulate((each.score for each in candidates), min)
    return [
        each if each.score == score else replace(each, score=score)
        for each, score in zip(candidates, lowest, strict=True)
    ]


def _why_empty(merged: Merged, query: Query) -> str:
    if any(each.index.building for each in merged.rankings):
        return "building"  # what is still to come may hold the answer
    if not any(each.index.rows.n_records for each in merged.rankings):
        return "nothing_indexed"
    retrieved = [each.retrieved for each in merged.rankings]
    if (query.where or query.surfaces) and not any(each.eligible for each in retrieved):
        return "filtered_out"
    below = any(each.retrieved.candidates and not each.above_floor for each in merged.rankings)
    return "below_floor" if below else "no_candidates"


# -- sub-queries ---------------------------------------------------------------------------------


def _may_have_subqueries(query: Query) -> bool:
    return query.select.strategy == "conservative" and not query.rerank


def _with_subqueries(choice: Choice, run: _Run) -> Choice:
    """Add the best hit for each sub-query that the hits so far do not answer.

    It must bring as much evidence for it, by the same `rel`, as the first did for the whole query.
    """
    query, hits = run.query, list(choice.hits)
    for text in subqueries(query.text):
        if len(hits) >= query.select.max_k:
            break
        merged = _merged(run, replace(query, text=text))
        found = merged.hits
        strong = bool(found) and found[0].score >= query.select.rel * hits[0].score
        if strong and not answers(found, hits):
            best = replace(found[0], score=min(found[0].score, hits[-1].score))
            hits += merged.summarised([best])
    further = len(hits) - len(choice.hits)
    if not further:
        return choice
    weakest = min(hit.score for hit in hits) / hits[0].score
    signals = {
        **choice.signals,
        "n_selected": len(hits),
        "n_subqueries": further,
        "min_ratio": round(weakest, 4),
    }
    return replace(choice, hits=tuple(hits), signals=signals, reason="subqueries")


def answers(found: Sequence[Hit], hits: Sequence[Hit]) -> bool:
    """Return whether the hits already answer the sub-query that `found` is for."""
    known = {(hit.corpus, hit.artifact_id) for hit in hits}
    theirs = [hit.score for hit in found if (hit.corpus, hit.artifact_id) in known]
    return max(theirs, default=0.0) > _ANSWERS * found[0].score


# -- the answer ----------------------------------------------------------------------------------


def _trace(run: _Run, merged: Merged, choice: Choice) -> Trace:
    tier = tier_of(run.query)
    selection = Selection(
        query=run.query.text,
        mode=run.query.mode,
        results=tuple(map(_flagged, choice.hits)),
        abstained=choice.abstained,
        reason=choice.reason,
        signals={**choice.signals, **merged.signals},
        n_retrieved=len(merged.hits),
        n_selected=len(choice.hits),
        generation=run.snapshot.generation,
        freshness=_freshness(merged, run.pending),
        took_ms=round((time.perf_counter() - run.started) * 1e3, 3),
        tier=tier,
    )
    note(f"tier {tier}", selection.took_ms)
    return Trace(run.query, merged, choice, selection)


def _flagged(hit: Hit) -> Hit:
    """Name the kinds of hidden characters in what a person sees of a hit."""
    hidden = {*hidden_in(hit.summary), *hidden_in_names(hit.name, hit.pointer)}
    return replace(hit, hidden=tuple(sorted(hidden))) if hidden else hit


def _freshness(merged: Merged, pending: int) -> dict[str, Any]:
    indexes = [each.index for each in merged.rankings]
    scans = [index.last_reconcile for index in indexes]
    known = [scan for scan in scans if scan is not None]
    return {
        "pending": pending + sum(index.unembedded for index in indexes),
        "last_reconcile": min(known) if known and len(known) == len(scans) else None,
        "building": [index.corpus for index in indexes if index.building],
        "degraded": [index.corpus for index in indexes if index.degraded],
        "legs": merged.legs,
    }
