"""The read path on one page: a query and a snapshot become a selection.

Per asked corpus: filter, rank, fuse (retrieve), and hold what was found against the corpus' floor.
Then: merge those that pass by confidence, collapse copies, select or abstain. It reads one
immutable snapshot and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from irdaemon.disclosure.hidden import hidden_in, hidden_in_names
from irdaemon.discovery.budget import rung_of
from irdaemon.discovery.query import Embed, analysed, asked, check_query
from irdaemon.embed.rerankers import NOT_CONFIGURED, Reranker
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.retrieve import Candidate, retrieve
from irdaemon.retrieve.rerank import reranked
from irdaemon.retrieve.where import check_fields
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.profile import note, stage
from irdaemon.selection.dedupe import collapsed
from irdaemon.selection.strategies import Choice, Selector, check, select
from irdaemon.selection.subqueries import needs
from irdaemon.selection.threshold import Source, gated
from irdaemon.types import Hit, Query, Selection

# A hit with this share of the best evidence for a part serves that part too.
_SERVED = 0.3


@dataclass(frozen=True, slots=True)
class Models:
    """The models a query may need.

    `embed(text, embedder id)` gives the query's vector, or None where that embedder is not ready.
    """

    embed: Embed
    reranker: Reranker = NOT_CONFIGURED


@dataclass(frozen=True, slots=True)
class Pool:
    """What every asked corpus had to offer, and the merged hits of those that passed."""

    sources: tuple[Source, ...]
    hits: tuple[Hit, ...]

    @property
    def legs(self) -> list[str]:
        """Name the legs that took part anywhere."""
        return sorted({leg for source in self.sources for leg in source.retrieved.took_part})

    @property
    def signals(self) -> dict[str, Any]:
        """Return what each corpus found, and the floor it was held against."""
        return {"per_source": {each.index.corpus: each.signals() for each in self.sources}}


def discover(
    snapshot: Snapshot,
    query: Query,
    models: Models,
    pending: int = 0,
    custom: Selector | None = None,
) -> Selection:
    """Answer a query with few hits, or with none and a typed reason.

    Raises QueryError, NotFound or Unavailable for a query that cannot be run.
    """
    started = time.perf_counter()
    check(query.select, custom)
    pool = gather(snapshot, query, models)
    with stage("select"):
        choice = select(pool.hits, query.select, custom)
    if choice.abstained and not pool.hits:
        choice = replace(choice, reason=_why_empty(pool, query))
    elif custom is None and choice.hits and _may_have_needs(query):
        with stage("needs"):
            choice = _with_further_needs(choice, snapshot, query, models)
    return _selection(snapshot, query, pool, choice, pending, started)


def _may_have_needs(query: Query) -> bool:
    return query.select.strategy == "conservative" and not query.rerank


def search(snapshot: Snapshot, query: Query, models: Models, pending: int = 0) -> Selection:
    """Return the ranked candidates of a query: no floor, no selection, only exact copies joined."""
    started = time.perf_counter()
    everything = replace(query, select=replace(query.select, min_score=None))
    sources = look(snapshot, everything, models)
    hits = tuple(islice(collapsed(_merge(sources)), query.k))
    signals = {"n_candidates": len(hits), "n_selected": len(hits)}
    pool = Pool(sources, hits)
    reason = "ranked" if hits else _why_empty(pool, query)
    choice = Choice(hits, not hits, reason, signals)
    return _selection(snapshot, query, pool, choice, pending, started)


def gather(snapshot: Snapshot, query: Query, models: Models) -> Pool:
    """Ask every corpus, drop those below their floor, merge, and join copies; at most `k` hits."""
    sources = look(snapshot, query, models)
    with stage("merge"):
        merged = _merge([source for source in sources if source.passed])
        return Pool(sources, tuple(islice(collapsed(merged, near=True), query.k)))


def look(snapshot: Snapshot, query: Query, models: Models) -> tuple[Source, ...]:
    """Retrieve from every asked corpus, and hold each against its own floor."""
    check_clock()
    check_query(query)
    indexes = asked(snapshot, query.corpora)
    if query.where:
        check_fields(query.where, {name for index in indexes for name in index.columns.names()})
    return tuple(_source(snapshot, index, query, models) for index in indexes)


def _source(snapshot: Snapshot, index: CorpusIndex, query: Query, models: Models) -> Source:
    with stage("analyse"):
        question = analysed(snapshot, index, query, models.embed)
    retrieved = retrieve(index, question)
    if query.rerank:
        with stage("rerank"):
            retrieved = reranked(retrieved, query.text, models.reranker)
    with stage("gate"):
        return gated(index, question, retrieved, query)


def _with_further_needs(choice: Choice, snapshot: Snapshot, query: Query, models: Models) -> Choice:
    """Add the best hit for each part of the query that the hits so far do not serve.

    It must bring as much evidence for its part, by the same `rel`, as the first did for the whole.
    """
    hits = list(choice.hits)
    for part in needs(query.text):
        if len(hits) >= query.select.max_k:
            break
        found = gather(snapshot, replace(query, text=part), models).hits
        strong = bool(found) and found[0].score >= query.select.rel * hits[0].score
        if strong and not _served(found, hits):
            hits.append(found[0])
    further = len(hits) - len(choice.hits)
    if not further:
        return choice
    weakest = min(hit.score for hit in hits) / hits[0].score
    signals = {
        **choice.signals,
        "n_selected": len(hits),
        "n_needs": further,
        "min_ratio": round(weakest, 4),
    }
    return replace(choice, hits=tuple(hits), signals=signals, reason="needs")


def _served(found: Sequence[Hit], hits: Sequence[Hit]) -> bool:
    """Say whether the hits already answer the part of a query that `found` is for."""
    known = {(hit.corpus, hit.artifact_id) for hit in hits}
    theirs = [hit.score for hit in found if (hit.corpus, hit.artifact_id) in known]
    return max(theirs, default=0.0) > _SERVED * found[0].score


def _merge(sources: Sequence[Source]) -> list[Candidate]:
    """Interleave the corpora's rankings: next comes the head in which there is most confidence.

    Each corpus' own order is kept. Across corpora calibrated confidence compares, and where one of
    them has no floor evidence does; raw scores never.
    """
    if len(sources) == 1:
        return list(sources[0].retrieved.candidates)
    calibrated = all(source.floor is not None for source in sources)
    rankings = [
        [
            (source.confidence_of(each) if calibrated else each.score, each)
            for each in reversed(source.retrieved.candidates)
        ]
        for source in sources
    ]
    rankings = [ranking for ranking in rankings if ranking]
    merged: list[Candidate] = []
    while rankings:
        best = max(rankings, key=lambda ranking: ranking[-1][0])
        merged.append(best.pop()[1])
        rankings = [ranking for ranking in rankings if ranking]
    return merged


def _why_empty(pool: Pool, query: Query) -> str:
    if not any(source.index.rows.n_records for source in pool.sources):
        return "nothing_indexed"
    retrieved = [source.retrieved for source in pool.sources]
    if (query.where or query.surfaces) and not any(each.eligible for each in retrieved):
        return "filtered_out"
    below = any(each.retrieved.candidates and not each.passed for each in pool.sources)
    return "below_floor" if below else "no_candidates"


def _selection(
    snapshot: Snapshot, query: Query, pool: Pool, choice: Choice, pending: int, started: float
) -> Selection:
    rung = rung_of(query)
    return Selection(
        query=query.text,
        mode=query.mode,
        results=tuple(map(_flagged, choice.hits)),
        abstained=choice.abstained,
        reason=choice.reason,
        signals={**choice.signals, **pool.signals},
        n_retrieved=len(pool.hits),
        n_selected=len(choice.hits),
        generation=snapshot.generation,
        freshness=_freshness(pool, pending),
        took_ms=_noted(rung, started),
        rung=rung,
    )


def _flagged(hit: Hit) -> Hit:
    """Name the kinds of hidden characters in what a person sees of a hit."""
    hidden = {*hidden_in(hit.summary), *hidden_in_names(hit.name, hit.pointer)}
    return replace(hit, hidden=tuple(sorted(hidden))) if hidden else hit


def _noted(rung: str, started: float) -> float:
    took = (time.perf_counter() - started) * 1e3
    note(f"rung {rung}", took)
    return round(took, 3)


def _freshness(pool: Pool, pending: int) -> dict[str, Any]:
    indexes = [source.index for source in pool.sources]
    looks = [index.last_reconcile for index in indexes]
    known = [look for look in looks if look is not None]
    return {
        "pending": pending + sum(index.unembedded for index in indexes),
        "last_reconcile": min(known) if known and len(known) == len(looks) else None,
        "building": [index.corpus for index in indexes if index.last_reconcile is None],
        "degraded": [index.corpus for index in indexes if index.degraded],
        "legs": pool.legs,
    }
