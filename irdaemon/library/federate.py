"""Ask several corpora as one: a snapshot over all their ledgers, each with its own vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from irclient.errors import QueryError
from irdaemon.discovery import discover as discovery
from irdaemon.discovery.fuse import RRF_K
from irdaemon.discovery.legs import UNTUNED
from irdaemon.discovery.links import LinkScope, add_related
from irdaemon.discovery.merge import (
    DEFAULT_OPTIONS,
    SelectionOptions,
    check_options,
    check_rrf_k,
    check_weights,
)
from irdaemon.discovery.query import ParsedQuery, parse_query, parse_search
from irdaemon.discovery.rerank import NOT_REREAD
from irdaemon.embed import QueryVector
from irdaemon.index import Snapshot
from irdaemon.library.built import Built
from irdaemon.library.reranking import NOT_RERANKED, Reranking
from irdaemon.library.wordings import (
    Ask,
    Formulator,
    discover_wordings,
    formulate_wordings,
    search_wordings,
)
from irdaemon.types import Hit, Query, Selection, Tuning

# Fuse: order hits of several sources by their ranks, not by their scores.

# Returns what a hit is, the same for hits of several sources that are one thing; "" or None: the
# hit itself.
Identity = Callable[[Hit], Hashable]


@dataclass(frozen=True, slots=True)
class _Fused:
    """One thing found: its best hit, that hit's place, and the sum over its places."""

    hit: Hit
    rank: int
    place: int
    fused: float


def fuse_hits(
    hits_by_source: Mapping[str, Sequence[Hit]],
    *,
    rrf_k: float = RRF_K,
    weights: Mapping[str, float] | None = None,
    identity: str | Identity | None = None,
    k: int | None = None,
) -> tuple[Hit, ...]:
    """Merge hits by source into one order, by the sum of weight / (rrf_k + rank) over the sources.

    Within a source a thing counts once, at its best place. `identity` says which hits are one thing
    across sources: None: none, "pointer": those with the same pointer, else a function of a hit.
    Ties are broken by the best rank, then the order of the sources, then the id. The score of a hit
    stays its evidence, but never above that of the hit before it; `scores` gets `rrf`,
    `source_score` and `source_rank`, and `duplicates` the other hits that are the same thing. Hits
    of one source alone stay as they are.
    """
    check_rrf_k(rrf_k)
    check_weights(weights or {})
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise QueryError(f"k must be a whole number of at least 1, or None, not {k!r}")
    key_of = _choose_identity(identity)
    ranked = {
        source: once
        for source, hits in hits_by_source.items()
        if (once := _drop_repeats(source, hits, key_of))
    }
    if len(ranked) == 1:
        (only,) = ranked.values()
        return tuple(only.values())[:k]
    return _make_hits(_sort_fused(ranked, weights or {}, rrf_k)[:k])


def _choose_identity(identity: str | Identity | None) -> Identity:
    if identity is None:
        return lambda hit: None
    if identity == "pointer":
        return lambda hit: hit.pointer
    if callable(identity):
        return identity
    raise QueryError(f"unknown identity {identity!r}", 'use None, "pointer" or a function of a hit')


def _drop_repeats(source: str, hits: Sequence[Hit], key_of: Identity) -> dict[Hashable, Hit]:
    """Return a source's hits by identity, best first."""
    found: dict[Hashable, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        found.setdefault(key_of(hit) or (source, hit.corpus, hit.artifact_id), hit)
    return found


def _sort_fused(
    ranked: Mapping[str, Mapping[Hashable, Hit]], weights: Mapping[str, float], rrf_k: float
) -> list[_Fused]:
    found: dict[Hashable, _Fused] = {}
    for place, (source, hits) in enumerate(ranked.items()):
        for rank, (key, hit) in enumerate(hits.items(), start=1):
            new = _Fused(hit, rank, place, weights.get(source, 1.0) / (rrf_k + rank))
            found[key] = _join_places(found[key], new) if key in found else new
    return sorted(
        found.values(), key=lambda each: (-each.fused, each.rank, each.place, each.hit.artifact_id)
    )


def _join_places(one: _Fused, other: _Fused) -> _Fused:
    """Return one thing from two sources' findings of it, with the hit of the better rank."""
    best, behind = (one, other) if one.rank <= other.rank else (other, one)
    duplicate = f"{behind.hit.corpus}/{behind.hit.artifact_id}"
    others = dict.fromkeys((*best.hit.duplicates, duplicate, *behind.hit.duplicates))
    return replace(
        best,
        hit=replace(best.hit, duplicates=tuple(others)),
        fused=one.fused + other.fused,
    )


def _make_hits(found: Sequence[_Fused]) -> tuple[Hit, ...]:
    least, hits = float("inf"), []
    for each in found:
        own = each.hit.score
        least = min(least, own)
        scores = {
            **each.hit.scores,
            "rrf": each.fused,
            "source_score": own,
            "source_rank": each.rank,
        }
        hits.append(replace(each.hit, score=least, scores=scores))
    return tuple(hits)


class SeveralCorpora:
    """Corpora in separate ledgers, in the order in which they are named.

    `tuning` is how the legs of each are fused, `reranking` the reranking, if a query asks for it.
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
        options: SelectionOptions = DEFAULT_OPTIONS,
        formulate: Formulator | None = None,
    ) -> Selection:
        """Return the ranked candidates of all corpora, without selection."""
        check_options(options, self._by_name)
        return self._answer(search_wordings, parse_search(query), options, formulate)

    def discover(
        self,
        query: Query,
        options: SelectionOptions = DEFAULT_OPTIONS,
        formulate: Formulator | None = None,
    ) -> Selection:
        """Answer a query with a few hits from any corpus, or none and a typed reason.

        If a formulator gives several wordings, the selection is among the hits of all.
        """
        check_options(options, self._by_name)
        valid = parse_query(query, options.selector)
        return self._answer(discover_wordings, valid, options, formulate)

    def _answer(
        self, ask: Ask, query: ParsedQuery, options: SelectionOptions, formulate: Formulator | None
    ) -> Selection:
        rereading = self._reranking.bind(self._by_name) if query.rerank else NOT_REREAD
        # Every wording is reranked by the query itself.
        rereading = rereading.bind_query(query.text)
        models = discovery.Models(self._embed_query, rereading, self._tuning)
        texts = formulate_wordings(formulate, query.text) if formulate else (query.text,)
        found = ask(self._take_snapshot(), query, texts, models, options)
        signals = dict(found.signals)
        if len(self._by_name) > 1:
            signals["merge"] = options.merge if isinstance(options.merge, str) else "custom"
        hits = tuple(self._add_payloads(found.results, query))
        if query.related:
            hits = add_related(hits, self._list_scopes())
        return replace(found, results=hits, signals=signals)

    def _list_scopes(self) -> list[LinkScope]:
        """Return the links of every corpus, each from its own ledger."""
        each = self._by_name.values()
        return [LinkScope(built.engine.ledger.links, [built.name]) for built in each]

    def _take_snapshot(self) -> Snapshot:
        """Return the current state; its generation is the highest of all corpora."""
        now = {name: built.engine.snapshot for name, built in self._by_name.items()}
        indexes = {name: each.corpora[name] for name, each in now.items()}
        return Snapshot(
            max(each.generation for each in now.values()),
            {
                name: replace(index, vocabulary=now[name].get_vocabulary(index))
                for name, index in indexes.items()
            },
        )

    def _embed_query(self, text: str, embedder_id: str) -> QueryVector | None:
        """Return a query's vector from the first of the engines that has its embedder."""
        pools = (built.engine.state.embedders for built in self._by_name.values())
        found = (pool.embed_query(text, embedder_id) for pool in pools)
        return next((vector for vector in found if vector is not None), None)

    def _add_payloads(self, hits: Iterable[Hit], query: ParsedQuery) -> Iterable[Hit]:
        """Yield hits that lead back to their corpora, with the payloads that the query asks for."""
        plain = (query.level, query.expand) == ("metadata", "none")
        for hit in hits:
            built = self._by_name[hit.corpus]
            yield from built.own((hit,) if plain else built.engine.store.add_payloads([hit], query))
