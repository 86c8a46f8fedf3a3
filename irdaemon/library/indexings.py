"""Comparison of corpora, or of ways to search one, on queries of which the answers are graded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irclient.errors import IRError, QueryError
from irclient.results import IndexedArtifact
from irdaemon import evaluate
from irdaemon.engine import Engine
from irdaemon.evaluate import Catalogue, GradedQuery, IndexingComparison, RankHits, Searcher
from irdaemon.evaluate.graded import DEPTH
from irdaemon.index import CorpusIndex
from irdaemon.library.bound_search import BoundSearch
from irdaemon.library.built import Built
from irdaemon.library.functions import as_retriever
from irdaemon.runtime.plugins import did_you_mean

_OURS = ("k", "per_artifact")
_PAGE = 1_000
_DRIFT_SHOWN = 5


def compare_indexings(
    corpora: Mapping[str, Built | str | Searcher | RankHits],
    queries: Sequence[GradedQuery],
    *,
    k: int = 20,
    rank_depth: int = DEPTH,
    search_by_label: Mapping[str, Mapping[str, Any]] | None = None,
) -> IndexingComparison:
    """Ask corpora built in several ways the same queries, and measure each ranking at k.

    `corpora` are by label, the baseline first: a handle, a name, what has `search`, such as a
    `Client`, or a function (text, k=number) -> hits, of which the first `rank_depth` count.
    `search_by_label` gives keywords of `search` for a label, so that one corpus may stand under
    several. What a query names that no corpus holds is warned of. Raises QueryError for an unknown
    label, for keywords of what is no built corpus, and for those that a comparison sets itself.
    """
    given = search_by_label or {}
    for label in given:
        if label not in corpora:
            near = did_you_mean(label, corpora)
            raise QueryError(f"search_by_label names an unknown label {label!r}{near}")
    arms = {label: _arm(label, each, given.get(label)) for label, each in corpora.items()}
    catalogue = catalogue_of(arms.values())
    if catalogue is None:
        return evaluate.compare_indexings(arms, queries, k, rank_depth)
    meant = [query.resolved(catalogue) for query in queries]
    drift = sorted({each for query in meant for each in catalogue.unknown(query.named)})
    warn_of_drift(drift)
    found = evaluate.compare_indexings(arms, meant, k, rank_depth)
    return replace(found, drift=tuple(drift))


def catalogue_of(searchers: Iterable[object]) -> Catalogue | None:
    """Return what searchers hold, as far as it is known; None where it is of none of them.

    Known are engines, corpora built here or their retrievers, and clients.
    """
    indexes: list[CorpusIndex] = []
    served: list[IndexedArtifact] = []
    for each in searchers:
        searched = each.corpus if isinstance(each, BoundSearch) else each
        if isinstance(searched, Built):
            indexes.append(searched.engine.snapshot.corpora[searched.name])
        elif isinstance(searched, Engine):
            indexes += searched.snapshot.corpora.values()
        elif hasattr(searched, "artifacts"):
            served += _served(searched)
    if not indexes and not served:
        return None
    made = Catalogue.of(indexes)
    for each in served:
        made.add([(each.artifact_id, each.name)], each.corpus)
    return made


def _served(client: Any) -> Iterator[IndexedArtifact]:
    """Yield what a daemon holds, page by page; where it does not say, warn and yield nothing."""
    after = ""
    try:
        while page := client.artifacts(after=after, limit=_PAGE):
            yield from page
            after = f"{page[-1].corpus}/{page[-1].artifact_id}"
    except IRError as error:
        warnings.warn(f"gold counts as ids, since names cannot be asked: {error}", stacklevel=5)


def warn_of_drift(drift: Sequence[str]) -> None:
    """Warn of gold that no artifact is."""
    if drift:
        more = f" and {len(drift) - _DRIFT_SHOWN} more" if len(drift) > _DRIFT_SHOWN else ""
        shown = ", ".join(map(repr, drift[:_DRIFT_SHOWN]))
        warnings.warn(
            f"{shown}{more}: no artifact has this id, and it is no one artifact's name; it counts"
            " as missed. The report's `drift` lists all",
            stacklevel=5,
        )


def _arm(
    label: str, corpus: Built | str | Searcher | RankHits, keywords: Mapping[str, Any] | None
) -> Searcher | RankHits:
    if isinstance(corpus, (Built, str)):
        for name in _OURS:
            if name in (keywords or {}):
                raise QueryError(
                    f"search_by_label sets {name} of {label!r}",
                    "each ranking is of artifacts, to rank_depth",
                )
        return as_retriever(corpus, **(keywords or {}))
    if keywords is not None:
        raise QueryError(
            f"{label!r} is no corpus built here, and takes no keywords of search",
            "give a function that searches as it should",
        )
    return corpus
