"""A query asked in several wordings: one answer to what any of them found.

What a reranker reads again it compares with the query itself: a wording finds, the query judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from irdaemon.discovery.discover import Models, discover, search
from irdaemon.discovery.formulate import union
from irdaemon.discovery.merge import AS_ASKED, Choosing
from irdaemon.discovery.strategies import relaxed, select
from irdaemon.index import Snapshot
from irdaemon.types import Hit, Query, Selection, SelectSpec

# Answer a query by one or more wordings of it.
Ask = Callable[[Snapshot, Query, Sequence[str], Models, Choosing], Selection]


def search_wordings(
    snapshot: Snapshot,
    query: Query,
    texts: Sequence[str],
    models: Models,
    choosing: Choosing = AS_ASKED,
) -> Selection:
    """Return the `k` best of what the wordings of a query find, each at its best evidence."""
    models = replace(models, rereading=models.rereading.against(query.text))
    if len(texts) == 1:
        (text,) = texts
        only = search(snapshot, replace(query, text=text), models, 0, choosing)
        return replace(only.selection, query=query.text)
    found = [
        search(snapshot, replace(query, text=text), models, 0, choosing).selection for text in texts
    ]
    hits = union((each.results for each in found), query.passages > 1)[: query.k]
    answer = _of_all(found, query, hits)
    counted = {"n_candidates": len(hits), "n_selected": len(hits), "wordings": list(texts)}
    return replace(answer, signals={**answer.signals, **counted})


def discover_wordings(
    snapshot: Snapshot,
    query: Query,
    texts: Sequence[str],
    models: Models,
    choosing: Choosing = AS_ASKED,
) -> Selection:
    """Select among what the wordings of a query find above the floors; see `discover`."""
    models = replace(models, rereading=models.rereading.against(query.text))
    if len(texts) == 1:
        (text,) = texts
        only = discover(snapshot, replace(query, text=text), models, 0, choosing)
        return replace(only.selection, query=query.text)
    spec = query.select
    every = replace(
        query, select=SelectSpec("top_k", max_k=query.k, min_score=spec.min_score), rounds=None
    )
    unchosen = replace(choosing, selector=None)
    found = [
        discover(snapshot, replace(every, text=text), models, 0, unchosen).selection
        for text in texts
    ]
    hits = union(each.results for each in found)[: query.k]
    answer = _of_all(found, query, hits)
    if not hits:
        return answer
    if choosing.floors:  # they were applied before
        spec = replace(spec, min_score=None)
    choice = select(hits, relaxed(spec, hits), choosing.selector)
    return replace(
        answer,
        results=choice.hits,
        abstained=choice.abstained,
        reason=choice.reason,
        signals={**answer.signals, **choice.signals, "wordings": list(texts)},
        n_selected=len(choice.hits),
    )


def _of_all(found: Sequence[Selection], query: Query, hits: Sequence[Hit]) -> Selection:
    """Return the answer to the first wording that has one, with the hits of all."""
    answer = next((each for each in found if each.results), found[0])
    counts = len(hits)
    return replace(
        answer, query=query.text, results=tuple(hits), n_retrieved=counts, n_selected=counts
    )
