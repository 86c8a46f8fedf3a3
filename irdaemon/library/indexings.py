"""Comparison of corpora, or of ways to search one, on queries of which the answers are graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irclient.errors import QueryError
from irdaemon import evaluate
from irdaemon.evaluate import GradedQuery, IndexingComparison, RankHits, Searcher
from irdaemon.evaluate.graded import DEPTH
from irdaemon.library.built import Built
from irdaemon.library.functions import as_retriever
from irdaemon.runtime.plugins import did_you_mean

_OURS = ("k", "per_artifact")


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
    several. Raises QueryError for an unknown label, for keywords of what is no built corpus, and
    for those that a comparison sets itself.
    """
    given = search_by_label or {}
    for label in given:
        if label not in corpora:
            near = did_you_mean(label, corpora)
            raise QueryError(f"search_by_label names an unknown label {label!r}{near}")
    arms = {label: _arm(label, each, given.get(label)) for label, each in corpora.items()}
    return evaluate.compare_indexings(arms, queries, k, rank_depth)


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
