"""Fuse: hits of several sources become one order by their ranks, whatever made their scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from irclient.errors import QueryError
from irdaemon.discovery.merge import check_rrf_k, check_weights
from irdaemon.discovery.retrieve import RRF_K
from irdaemon.types import Hit

# Names what a hit is, the same for hits of several sources that are one thing; "" or None: itself.
Identity = Callable[[Hit], Hashable]


@dataclass(frozen=True, slots=True)
class _Fused:
    """One thing that was found: its best hit, where that stood, and the sum over its places."""

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
    """Merge hits by source into one order, by weight / (rrf_k + rank) added over the sources.

    Within a source a thing counts once, at its best place. `identity` says what is one thing across
    sources: None nothing, "pointer" what has the same pointer, else a function of a hit. Ties go by
    the best rank, then by the order of the sources, then by id. The score of a hit stays its
    evidence, none above one before it; `scores` gets `rrf`, `source_score` and `source_rank`, and
    `duplicates` the other hits that are the same thing. Hits of one source alone stay as they are.
    """
    check_rrf_k(rrf_k)
    check_weights(weights or {})
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise QueryError(f"k must be a whole number of at least 1, or None, not {k!r}")
    key_of = _key_of(identity)
    ranked = {
        source: once
        for source, hits in hits_by_source.items()
        if (once := _each_once(source, hits, key_of))
    }
    if len(ranked) == 1:
        (only,) = ranked.values()
        return tuple(only.values())[:k]
    return _as_hits(_ordered(ranked, weights or {}, rrf_k)[:k])


def _key_of(identity: str | Identity | None) -> Identity:
    if identity is None:
        return lambda hit: None
    if identity == "pointer":
        return lambda hit: hit.pointer
    if callable(identity):
        return identity
    raise QueryError(f"unknown identity {identity!r}", 'use None, "pointer" or a function of a hit')


def _each_once(source: str, hits: Sequence[Hit], key_of: Identity) -> dict[Hashable, Hit]:
    """Return a source's hits by what they are, best first."""
    found: dict[Hashable, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        found.setdefault(key_of(hit) or (source, hit.corpus, hit.artifact_id), hit)
    return found


def _ordered(
    ranked: Mapping[str, Mapping[Hashable, Hit]], weights: Mapping[str, float], rrf_k: float
) -> list[_Fused]:
    found: dict[Hashable, _Fused] = {}
    for place, (source, hits) in enumerate(ranked.items()):
        for rank, (key, hit) in enumerate(hits.items(), start=1):
            new = _Fused(hit, rank, place, weights.get(source, 1.0) / (rrf_k + rank))
            found[key] = _both(found[key], new) if key in found else new
    return sorted(
        found.values(), key=lambda each: (-each.fused, each.rank, each.place, each.hit.artifact_id)
    )


def _both(one: _Fused, other: _Fused) -> _Fused:
    """Return one thing of what two sources found of it, by the hit of the better rank."""
    best, behind = (one, other) if one.rank <= other.rank else (other, one)
    duplicate = f"{behind.hit.corpus}/{behind.hit.artifact_id}"
    others = dict.fromkeys((*best.hit.duplicates, duplicate, *behind.hit.duplicates))
    return replace(
        best,
        hit=replace(best.hit, duplicates=tuple(others)),
        fused=one.fused + other.fused,
    )


def _as_hits(found: Sequence[_Fused]) -> tuple[Hit, ...]:
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
