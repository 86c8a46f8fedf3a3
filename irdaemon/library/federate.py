"""Corpora asked as one: a snapshot over all their ledgers, each with its own vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from irclient.errors import QueryError
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.links import LinkScope, with_related
from irdaemon.discovery.merge import DEFAULT_OPTIONS, SelectionOptions, check_options
from irdaemon.discovery.query import ranking_only, validated
from irdaemon.discovery.rerank import NOT_REREAD
from irdaemon.discovery.retrieve import UNTUNED
from irdaemon.discovery.wordings import (
    Ask,
    Formulator,
    discover_wordings,
    search_wordings,
    wordings,
)
from irdaemon.embed import QueryVector
from irdaemon.index import Snapshot
from irdaemon.library.built import Built
from irdaemon.library.reranking import NOT_RERANKED, Reranking
from irdaemon.types import Hit, Query, Selection, Tuning


class SeveralCorpora:
    """Corpora of ledgers of their own, in the order in which they are named.

    `tuning` is how the legs of each are fused, `reranking` what is read again where a
    query asks for it.
    """

    def __init__(
        self,
        corpora: Sequence[Built],
        tuning: Tuning = UNTUNED,
        reranking: Reranking = NOT_RERANKED,
    ):
        self._tuning, self._reranking = tuning, reranking
        self._by_name = {built.name: built for built in corpora}
        if not corpora:
            raise QueryError("no corpus is named", "give at least one")
        if len(self._by_name) < len(corpora):
            names = [built.name for built in corpora]
            twice = next(name for name in names if names.count(name) > 1)
            raise QueryError(f"corpus {twice!r} is named twice", "give each corpus once")

    def search(
        self,
        query: Query,
        choosing: SelectionOptions = DEFAULT_OPTIONS,
        formulate: Formulator | None = None,
    ) -> Selection:
        """Return the ranked candidates of all corpora, without selection."""
        return self._answered(search_wordings, ranking_only(query), choosing, formulate)

    def discover(
        self,
        query: Query,
        choosing: SelectionOptions = DEFAULT_OPTIONS,
        formulate: Formulator | None = None,
    ) -> Selection:
        """Answer a query with few hits of whatever corpus, or none and a typed reason.

        Where a formulator gives several wordings, what any of them finds is selected among.
        """
        return self._answered(discover_wordings, query, choosing, formulate)

    def _answered(
        self, ask: Ask, query: Query, choosing: SelectionOptions, formulate: Formulator | None
    ) -> Selection:
        check_options(choosing, self._by_name)
        valid = validated(query, choosing.selector)
        rereading = self._reranking.of(self._by_name) if query.rerank else NOT_REREAD
        models = discovery.Models(self._vector, rereading, self._tuning)
        texts = wordings(formulate, valid.text) if formulate else (valid.text,)
        found = ask(self._snapshot(), valid, texts, models, choosing)
        signals = dict(found.signals)
        if len(self._by_name) > 1:
            signals["merge"] = choosing.merge if isinstance(choosing.merge, str) else "custom"
        hits = tuple(self._whole(found.results, valid))
        if valid.related:
            hits = with_related(hits, self._shelves())
        return replace(found, results=hits, signals=signals)

    def _shelves(self) -> list[LinkScope]:
        """Return the links of every corpus, each in a ledger of its own."""
        each = self._by_name.values()
        return [LinkScope(built.engine.ledger.links, [built.name]) for built in each]

    def _snapshot(self) -> Snapshot:
        """Return what there is now; its generation is the highest of any of them."""
        now = {name: built.engine.snapshot for name, built in self._by_name.items()}
        indexes = {name: each.corpora[name] for name, each in now.items()}
        return Snapshot(
            max(each.generation for each in now.values()),
            {
                name: replace(index, vocabulary=now[name].vocabulary_of(index))
                for name, index in indexes.items()
            },
        )

    def _vector(self, text: str, embedder_id: str) -> QueryVector | None:
        """Return a query's vector by the first of the engines that has its embedder."""
        pools = (built.engine.state.embedders for built in self._by_name.values())
        found = (pool.vector(text, embedder_id) for pool in pools)
        return next((vector for vector in found if vector is not None), None)

    def _whole(self, hits: Iterable[Hit], query: Query) -> Iterable[Hit]:
        """Yield hits that lead back to their corpora, with the payloads that the query asks for."""
        plain = (query.level, query.expand) == ("metadata", "none")
        for hit in hits:
            built = self._by_name[hit.corpus]
            yield from built.own(
                (hit,) if plain else built.engine.reader.with_payloads([hit], query)
            )


def floors_of(
    min_score: float | str | Mapping[str, float | str | None] | None,
) -> Mapping[str, float | str | None]:
    """Return the floors that are given by corpus, none where one is given for all."""
    return min_score if isinstance(min_score, Mapping) else {}
