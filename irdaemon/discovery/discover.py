"""The read path on one page: a valid query and a snapshot become a selection, and its trace.

For each queried corpus: filter, rank, fuse (retrieve), and compare the candidates with the corpus'
floor. Then: merge the rankings above their floors by score, join duplicates, select or abstain. It
reads one immutable snapshot and writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from irclient.errors import QueryError
from irdaemon.discovery.decide import (
    AUTO,
    Choice,
    CorpusRanking,
    ReasonedSelector,
    apply_floor,
    fill_rel,
    resolve_rel,
    select,
)
from irdaemon.discovery.disclose import find_hidden
from irdaemon.discovery.impressions import drop_own_turns
from irdaemon.discovery.legs import UNTUNED, Question
from irdaemon.discovery.merge import (
    DEFAULT_OPTIONS,
    SESSION,
    NearDuplicates,
    SelectionOptions,
    join_duplicates,
    merge_rankings,
)
from irdaemon.discovery.preferences import PINNED, Item, Preferences, drop_unwanted
from irdaemon.discovery.query import (
    MAX_K,
    Embed,
    ParsedQuery,
    analyse_query,
    choose_k,
    cut_text,
    embed_question,
    fetch_part,
    name_tier,
    narrow_question,
    read_words,
    restrict_snapshot,
)
from irdaemon.discovery.rerank import (
    BOOSTED,
    NOT_REREAD,
    Rereading,
    boost_candidates,
    rerank_candidates,
)
from irdaemon.discovery.retrieve import Candidate, retrieve
from irdaemon.discovery.times import TIME, TimeWindow, holds_sessions
from irdaemon.discovery.variants import replace_words, respell_words, split_query
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.profile import note, stage
from irdaemon.text.tasks import has_task
from irdaemon.types import Hit, Query, Selection, Tuning

# Answer a query from a snapshot, as `search` and `discover` do: with models, the number of waiting
# changes, and how to choose.
Run = Callable[[Snapshot, ParsedQuery, "Models", int, SelectionOptions], "Trace"]

# A corpus, or the part of one that a query needs, and the query in its terms.
Asked = tuple[CorpusIndex, Question]

# A corpus in a backend has a separate vocabulary for each part.
_NOWHERE: Mapping[str, int] = {}
# A hit with this share of the best evidence for a sub-query answers it too.
_ANSWERS = 0.3
# By how much to retrieve more if many candidates are duplicates.
_WIDER = 10
# A prompt without a task requires full evidence: only items called by name have it.
_WITHOUT_TASK = 1.0
NO_TASK = "no_task"
_WITHOUT_ONE = {"below_floor": NO_TASK, "no_candidates": NO_TASK}


@dataclass(frozen=True, slots=True)
class Models:
    """The models a query may need.

    `embed(text, embedder id)` returns the query's vector, or None if that embedder is not ready.
    `rereading` is how to rerank the best candidates if a query asks for it, `tuning` how to fuse
    the legs.
    """

    embed: Embed
    rereading: Rereading = NOT_REREAD
    tuning: Tuning = UNTUNED


@dataclass(frozen=True, slots=True)
class Merged:
    """The ranking of every queried corpus, and the merged candidates above the floors."""

    rankings: tuple[CorpusRanking, ...]
    found: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The results of each stage of one query, up to the selection that answers it."""

    query: ParsedQuery
    merged: Merged
    choice: Choice
    selection: Selection


@dataclass(frozen=True, slots=True)
class _Run:
    """One query in progress: its snapshot and models, its start, and the waiting changes."""

    snapshot: Snapshot
    query: ParsedQuery
    models: Models
    pending: int
    started: float
    options: SelectionOptions


def check_offering(query: ParsedQuery) -> None:
    """Raise QueryError for a query that only a search can answer."""
    if query.exact:
        raise QueryError("exact is for search: it decides nothing", "irc search --exact TEXT")
    if query.passages > 1:
        raise QueryError(
            "passages is for search: discover commits to whole artifacts",
            "use search, or disclose what discover found",
        )


def discover(
    snapshot: Snapshot,
    query: ParsedQuery,
    models: Models,
    pending: int = 0,
    options: SelectionOptions = DEFAULT_OPTIONS,
) -> Trace:
    """Answer a query with few hits, or with none and a typed reason.

    A query without an answer is tried once more with respelled words in place of those that no
    corpus contains.

    Raises NotFound for an unknown corpus, QueryError for an unknown field and for several passages
    of an artifact, Unavailable if a model is missing.
    """
    started = time.perf_counter()
    check_offering(query)
    asks = query.select.min_score != AUTO or has_task(query.text)
    if not asks:
        query = replace(query, select=replace(query.select, min_score=_WITHOUT_TASK))
    run = _Run(restrict_snapshot(snapshot, query), query, models, pending, started, options)
    trace = _trace_discovery(run, asks)
    # A custom selector may count its calls.
    own = options.selector is not None and not isinstance(options.selector, ReasonedSelector)
    if asks and not own and not trace.merged.found:
        return _respell(run) or trace
    return trace


def _respell(run: _Run) -> Trace | None:
    """Try again with unknown words respelled; None if that does not help."""
    with stage("respell"):
        words = respell_words(run.snapshot, cut_text(run.query.text))
    if not words:
        return None
    again = replace(run, query=replace(run.query, text=replace_words(run.query.text, words)))
    trace = _trace_discovery(again, True)
    if trace.selection.abstained:
        return None
    signals = {**trace.selection.signals, "respelled": words}
    return replace(trace, selection=replace(trace.selection, query=run.query.text, signals=signals))


def _trace_discovery(run: _Run, asks: bool) -> Trace:
    """Query the corpora once, and select."""
    query, options = run.query, run.options
    merged = _gather(run, query)
    spec = query.select
    if options.floors:  # the corpora's floors were applied before
        spec = replace(spec, min_score=None)
    with stage("select"):
        spec = fill_rel(spec, merged.found)
        choice = select(merged.found, spec, options.selector, Candidate.make_hit)
    # A reranked order, and one of another selector, are those of the whole query.
    whole = query.select.strategy != "conservative" or query.rerank or options.selector
    if not merged.found:
        reason = _explain_nothing(merged, query)
        choice = replace(choice, reason=reason if asks else _WITHOUT_ONE.get(reason, reason))
    elif choice.hits and not whole:
        with stage("subqueries"):
            choice = _add_subqueries(choice, run)
    if asks and options.selector is None and options.preferences.pinned:
        choice = _offer_pinned(choice, merged, options.preferences, spec.max_k)
    return _trace(run, merged, choice)


def search(
    snapshot: Snapshot,
    query: ParsedQuery,
    models: Models,
    pending: int = 0,
    options: SelectionOptions = DEFAULT_OPTIONS,
) -> Trace:
    """Return the ranked candidates of a query: no floor, no selection, exact duplicates joined."""
    started = time.perf_counter()
    run = _Run(restrict_snapshot(snapshot, query), query, models, pending, started, options)
    rankings = tuple(_rank(run, query, *each) for each in _pose(run, query))
    candidates = merge_rankings(rankings, options)
    found = join_duplicates(candidates, by_passage=query.passages > 1, here=query.here)
    merged = Merged(rankings, tuple(islice(found, query.k)))
    hits = tuple(each.make_hit() for each in merged.found)
    signals = {"n_candidates": len(hits), "n_selected": len(hits)}
    reason = "ranked" if hits else _explain_nothing(merged, query)
    return _trace(run, merged, Choice(hits, reason, signals))


# -- from the asked corpora to what was found ----------------------------------------------------


def _gather(run: _Run, query: ParsedQuery) -> Merged:
    """Query every corpus, merge the rankings above their floors, join duplicates; at most `k`.

    If duplicates leave too few to select from, more is retrieved.
    """
    asked = _pose(run, query)
    merged = _merge(run, query, asked)
    few = len(merged.found) <= min(query.select.max_k, query.k - 1)
    if few and any(each.above_floor and each.cut for each in merged.rankings):
        wider = replace(query, k=min(_WIDER * query.k, MAX_K))
        k = wider.k if run.options.boost is None else max(wider.k, BOOSTED)
        merged = _merge(run, wider, _widen(asked, choose_k(k, run.models.tuning)))
        return replace(merged, found=merged.found[: query.k])
    return merged


def _merge(run: _Run, query: ParsedQuery, asked: Sequence[Asked]) -> Merged:
    rankings = tuple(_rank(run, query, *each) for each in asked)
    with stage("merge"):
        above = [each for each in rankings if each.above_floor]
        terms = {each.index.corpus: each.question.terms for each in above}
        # A query for the turns of a session gets them.
        near = NearDuplicates(query.select.max_k, terms, turns=query.filter.names(SESSION))
        ranked = merge_rankings(above, run.options)
        found = join_duplicates(ranked, near=near, here=query.here)
        return Merged(rankings, tuple(islice(found, query.k)))


def _pose(run: _Run, query: ParsedQuery) -> list[Asked]:
    """Return each corpus, or the part that the query needs, with the query in its terms.

    The query is analysed once, numbered once for each vocabulary, and embedded once for each
    embedder.
    """
    check_clock()
    models, asked = run.models, list[Asked]()
    numbered, embedded = dict[int, Question](), dict[tuple[int, str], Question]()
    if run.options.boost is not None:
        query = replace(query, k=max(query.k, BOOSTED))
    with stage("analyse"):
        words = read_words(query.text)
        for index in run.snapshot.corpora.values():
            vocabulary = _NOWHERE if index.elsewhere else run.snapshot.get_vocabulary(index)
            own, space = id(vocabulary), (id(vocabulary), index.embedder)
            if own not in numbered:
                known = _NOWHERE if index.elsewhere else run.snapshot.find_words(index)
                numbered[own] = analyse_query(query, known, models.tuning, words)
            if space not in embedded:
                embedded[space] = embed_question(numbered[own], index, models.embed)
            question = embedded[space]
            if query.window:
                question = narrow_question(question, index, query.window)
            part = fetch_part(index.elsewhere, question) if index.elsewhere else (index, question)
            asked.append(part)
    return asked


def _widen(asked: Sequence[Asked], k: int) -> list[Asked]:
    """Return the question with more candidates wanted; its words and vectors stay."""
    wider = ((index, replace(question, k=k)) for index, question in asked)
    return [fetch_part(i.elsewhere, q) if i.elsewhere else (i, q) for i, q in wider]


def _rank(run: _Run, query: ParsedQuery, index: CorpusIndex, question: Question) -> CorpusRanking:
    """Retrieve from a corpus, and compare the candidates with its floor."""
    check_clock()
    options, rereading = run.options, run.models.rereading
    if index.corpus in options.floors:
        floor = options.floors[index.corpus]
        query = replace(query, select=replace(query.select, min_score=floor))
    retrieved = retrieve(index, question)
    if options.session:
        retrieved = drop_own_turns(index, question, retrieved, options.session)
    if options.preferences.muted or options.preferences.faded:
        retrieved = drop_unwanted(index, question, retrieved, options.preferences)
    if query.rerank:
        with stage("rerank"):
            depth = question.tuning.fetch_k
            retrieved = rerank_candidates(retrieved, question.text, rereading, depth)
    if options.boost is not None:
        retrieved = boost_candidates(retrieved, options.boost)
    with stage("threshold"):
        return apply_floor(index, question, retrieved, query, rereading.key)


def _explain_nothing(merged: Merged, query: Query) -> str:
    if any(each.index.building for each in merged.rankings):
        return "building"  # the entries still to be read may contain the answer
    if query.exact:
        return "no_match"
    if not any(each.index.n_records for each in merged.rankings):
        return "nothing_indexed"
    retrieved = [each.retrieved for each in merged.rankings]
    if (query.where or query.surfaces) and not any(each.eligible for each in retrieved):
        return "filtered_out"
    below = any(each.retrieved.candidates and not each.above_floor for each in merged.rankings)
    return "below_floor" if below else "no_candidates"


# -- sub-queries ---------------------------------------------------------------------------------


def _add_subqueries(choice: Choice, run: _Run) -> Choice:
    """Add the best hit for each sub-query that the hits so far do not answer.

    Its evidence for the sub-query must reach the same `rel` as the first hit's for the whole query.
    """
    query, hits = run.query, list(choice.hits)
    for text in split_query(query.text):
        if len(hits) >= query.select.max_k:
            break
        found = _gather(run, replace(query, text=text)).found
        strong = bool(found) and found[0].score >= resolve_rel(query.select) * hits[0].score
        if strong and not is_answered(found, hits):
            hits.append(replace(found[0].make_hit(), score=min(found[0].score, hits[-1].score)))
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


def is_answered(found: Sequence[Candidate], hits: Sequence[Hit]) -> bool:
    """Return whether the hits already answer the sub-query of `found`."""
    known = {(hit.corpus, hit.artifact_id) for hit in hits}
    theirs = [hit.score for hit in found if (hit.corpus, hit.artifact_id) in known]
    return max(theirs, default=0.0) > _ANSWERS * found[0].score


# Pinned items: offered first if they are likely, at a lower threshold than others.
#
# One comes first if its corpus has at least half of the score that an offer requires, and if the
# item has at least four fifths of the best evidence there. A prompt without a task gets none. In
# two labelled homes a skill pinned at random comes first for 4% of the prompts that do not want it
# (at half the evidence 10%), and nine tenths of those that half would promote still are.
_OF_FLOOR, _OF_BEST = 0.5, 0.8


def _offer_pinned(choice: Choice, merged: Merged, preferences: Preferences, most: int) -> Choice:
    """Return a choice with the pinned items first that are near enough, at most `most` hits."""
    near = [
        (item, candidate)
        for ranking in merged.rankings
        if ranking.above_floor or ranking.top_score >= _OF_FLOOR * ranking.least > 0
        for candidate in ranking.retrieved.candidates
        if (item := (ranking.index.corpus, candidate.card.artifact_id)) in preferences.pinned
        and candidate.evidence >= _OF_BEST * _find_most_evidence(ranking) > 0
    ]
    if not near:
        return choice
    joined = {item: each for each in merged.found for item in _list_items(each.make_hit())}
    pinned: dict[Item, Hit] = {}
    for item, candidate in sorted(near, key=lambda each: -each[1].evidence):
        hit = joined.get(item, candidate).make_hit()
        pinned.setdefault((hit.corpus, hit.artifact_id), hit)
    rest = [hit for hit in choice.hits if (hit.corpus, hit.artifact_id) not in pinned]
    hits = (*pinned.values(), *rest)[:most]
    signals = {**choice.signals, "n_pinned": len(pinned), "n_selected": len(hits)}
    reason = PINNED if choice.abstained else choice.reason
    return replace(choice, hits=hits, reason=reason, signals=signals)


def _find_most_evidence(ranking: CorpusRanking) -> float:
    return max(each.evidence for each in ranking.retrieved.candidates)


def _list_items(hit: Hit) -> list[Item]:
    """Return a hit's item, and those that were joined with it."""
    copies = (each.partition("/") for each in hit.duplicates)
    return [(hit.corpus, hit.artifact_id), *((corpus, id) for corpus, _, id in copies)]


# -- the answer ----------------------------------------------------------------------------------


def _trace(run: _Run, merged: Merged, choice: Choice) -> Trace:
    query, tier = run.query, name_tier(run.query)
    per_source = {each.index.corpus: each.describe() for each in merged.rankings}
    signals = {**choice.signals, "per_source": per_source}
    if query.window and (narrowed := _tell_window(merged, query.window)):
        signals["narrowed"] = narrowed
    if (searched := len(cut_text(query.text))) < len(query.text):
        signals["cut"] = {"characters": searched, "of": len(query.text)}
    selection = Selection(
        query=query.text,
        mode=query.mode,
        results=tuple(map(_flag_hidden, choice.hits)),
        abstained=not choice.hits,
        reason=choice.reason,
        signals=signals,
        n_retrieved=len(merged.found),
        n_selected=len(choice.hits),
        generation=run.snapshot.generation,
        freshness=_tell_freshness(merged, run.pending),
        took_ms=round((time.perf_counter() - run.started) * 1e3, 3),
        tier=tier,
    )
    note(f"tier {tier}", selection.took_ms)
    return Trace(query, merged, choice, selection)


def _tell_window(merged: Merged, window: TimeWindow) -> dict[str, Any] | None:
    """Return the time that sessions were narrowed to; it is `empty` if there were none in it."""
    asked = [each for each in merged.rankings if holds_sessions(each.index)]
    if not asked:
        return None
    narrowed = any(TIME in each.question.filter.where for each in asked)
    return {**window.describe(), **({} if narrowed else {"empty": True})}


def _flag_hidden(hit: Hit) -> Hit:
    """Name the kinds of hidden characters in the displayed parts of a hit."""
    shown = f"{hit.summary}{hit.name}{hit.pointer}"
    if shown.isascii() and shown.isprintable():
        return hit
    hidden = find_hidden(hit.summary, names=(hit.name, hit.pointer))
    return replace(hit, hidden=hidden) if hidden else hit


def _tell_freshness(merged: Merged, pending: int) -> dict[str, Any]:
    indexes = [each.index for each in merged.rankings]
    scans = [index.last_reconcile for index in indexes]
    known = [scan for scan in scans if scan is not None]
    heads = [index.corpus for index in indexes if index.heads]
    return {
        "pending": pending + sum(index.unembedded for index in indexes),
        "last_reconcile": min(known) if known and len(known) == len(scans) else None,
        "building": [index.corpus for index in indexes if index.building],
        "degraded": [index.corpus for index in indexes if index.degraded],
        "legs": sorted({leg for each in merged.rankings for leg in each.retrieved.took_part}),
        **({"heads": heads} if heads else {}),
    }
