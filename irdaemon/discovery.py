"""The read path on one page: a query and a snapshot become a selection.

Per asked corpus: filter, rank, fuse (retrieve). Then: merge the corpora by evidence, collapse
copies, select or abstain. It reads one immutable snapshot and writes nothing.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import LimitError, QueryError, Unavailable
from irclient.types import MODES
from irdaemon.disclosure import check_level
from irdaemon.index import CorpusIndex, Snapshot
from irdaemon.load import did_you_mean
from irdaemon.references import unknown_corpus
from irdaemon.retrieve import Candidate, Question, Retrieved, retrieve
from irdaemon.retrieve.where import check_fields, fields_in
from irdaemon.selection import Choice, Selector, check, select
from irdaemon.text import tokenize
from irdaemon.types import Hit, Query, Selection

MAX_QUERY_CHARS = 200_000
MAX_K = 1_000
# Text beyond this says nothing more about what is wanted.
_ANALYSED_CHARS = 20_000
_SCOPES = ("project", "user", "plugin", "other")

Embed = Callable[[str, str], NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True)
class Pool:
    """The merged candidates of all asked corpora, and what is known about how they were found."""

    hits: tuple[Hit, ...]
    indexes: tuple[CorpusIndex, ...]
    retrieved: tuple[Retrieved, ...]

    @property
    def legs(self) -> list[str]:
        """Name the legs that took part anywhere."""
        return sorted({leg for part in self.retrieved for leg in part.took_part})


def discover(
    snapshot: Snapshot,
    query: Query,
    embed: Embed,
    pending: int = 0,
    custom: Selector | None = None,
) -> Selection:
    """Answer a query with few hits, or with none and a typed reason.

    `embed(text, embedder id)` gives the query's vector, or None where that embedder is not ready.
    Raises QueryError, NotFound or LimitError for a query that cannot be run.
    """
    started = time.perf_counter()
    check(query.select, custom)
    pool = gather(snapshot, query, embed)
    choice = select(pool.hits, query.select, custom)
    if choice.abstained and not pool.hits:
        choice = replace(choice, reason=_why_empty(pool, query))
    return _selection(snapshot, query, pool, choice, pending, started)


def search(snapshot: Snapshot, query: Query, embed: Embed, pending: int = 0) -> Selection:
    """Return the ranked candidates of a query, without selection."""
    started = time.perf_counter()
    pool = gather(snapshot, query, embed)
    signals = {"n_candidates": len(pool.hits), "n_selected": len(pool.hits)}
    reason = "ranked" if pool.hits else _why_empty(pool, query)
    choice = Choice(pool.hits, not pool.hits, reason, signals)
    return _selection(snapshot, query, pool, choice, pending, started)


def gather(snapshot: Snapshot, query: Query, embed: Embed) -> Pool:
    """Retrieve from every asked corpus, merge, and collapse copies; at most `k` hits."""
    _check(query)
    indexes = asked(snapshot, query.corpora)
    if query.where:
        check_fields(query.where, {name for index in indexes for name in index.columns.names()})
    questions = [_question(snapshot, index, query, embed) for index in indexes]
    retrieved = tuple(map(retrieve, indexes, questions))
    merged = _merge([part.candidates for part in retrieved])
    return Pool(tuple(_collapse(merged, query.k)), indexes, retrieved)


def asked(snapshot: Snapshot, corpora: Sequence[str]) -> tuple[CorpusIndex, ...]:
    """Return the indexes of the named corpora, all when none is named.

    Raises NotFound naming the nearest corpus.
    """
    for name in corpora:
        if name not in snapshot.corpora:
            raise unknown_corpus(name, snapshot.corpora)
    return tuple(snapshot.corpora[name] for name in dict.fromkeys(corpora or snapshot.corpora))


def _check(query: Query) -> None:
    if not isinstance(query.text, str) or not query.text.strip():
        raise QueryError("the query is empty", "say in a few words what is needed")
    if len(query.text) > MAX_QUERY_CHARS:
        raise LimitError(
            f"the query has {len(query.text):,} characters, the limit is {MAX_QUERY_CHARS:,}",
            "send the part that says what is needed",
        )
    if query.mode not in MODES:
        raise QueryError(
            f"unknown mode {query.mode!r}{did_you_mean(query.mode, MODES)}",
            f"modes: {', '.join(MODES)}",
        )
    if not isinstance(query.k, int) or isinstance(query.k, bool) or not 1 <= query.k <= MAX_K:
        raise QueryError(f"k must be a whole number from 1 to {MAX_K:,}, not {query.k!r}")
    check_level(query.level)
    list(fields_in(query.where))


def _question(snapshot: Snapshot, index: CorpusIndex, query: Query, embed: Embed) -> Question:
    text = query.text[:_ANALYSED_CHARS]
    vocabulary = snapshot.vocabulary
    tokens = dict.fromkeys(tokenize(text)) if query.mode != "dense" else {}
    # Punctuation alone has a vector too, which means nothing.
    says_something = any(map(str.isalnum, text))
    vector = embed(text, index.embedder) if query.mode != "lexical" and says_something else None
    if vector is None and query.mode == "dense" and says_something:
        raise Unavailable(
            f"the embedder {index.embedder!r} of corpus {index.corpus!r} is not ready",
            "use --mode lexical or hybrid meanwhile; `irc status` says why",
        )
    return Question(
        text=text,
        terms=tuple(vocabulary[token] for token in tokens if token in vocabulary),
        vector=vector,
        mode=query.mode,
        # Copies fall together later, so more is needed than is asked for.
        k=2 * query.k + 5,
        where=query.where,
        surfaces=frozenset(query.surfaces),
    )


def _merge(ranked: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Interleave the corpora's rankings: next comes the head with the most evidence.

    Each corpus' own order is kept; across corpora only evidence compares.
    """
    heads = [list(reversed(candidates)) for candidates in ranked if candidates]
    merged: list[Candidate] = []
    while heads:
        best = max(heads, key=lambda rest: rest[-1].score)
        merged.append(best.pop())
        heads = [rest for rest in heads if rest]
    return merged


def _collapse(candidates: Sequence[Candidate], k: int) -> list[Hit]:
    """Return `k` hits, one for each content: its best scope, in the place of its best rank."""
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.content, []).append(candidate)
    return [_representative(group) for group in itertools.islice(groups.values(), k)]


def _representative(group: list[Candidate]) -> Hit:
    if len(group) == 1:
        return group[0].hit
    hits = [candidate.hit for candidate in group]
    best = min(hits, key=_scope_rank)
    others = tuple(f"{hit.corpus}/{hit.artifact_id}" for hit in hits if hit is not best)
    return replace(best, copies=others)


def _scope_rank(hit: Hit) -> int:
    scope = hit.fields.get("scope")
    return _SCOPES.index(scope) if scope in _SCOPES else len(_SCOPES)


def _why_empty(pool: Pool, query: Query) -> str:
    if not any(len(index.rows.shown) for index in pool.indexes):
        return "nothing_indexed"
    if (query.where or query.surfaces) and not any(part.eligible for part in pool.retrieved):
        return "filtered_out"
    return "no_candidates"


def _selection(
    snapshot: Snapshot, query: Query, pool: Pool, choice: Choice, pending: int, started: float
) -> Selection:
    return Selection(
        query=query.text,
        mode=query.mode,
        results=choice.hits,
        abstained=choice.abstained,
        reason=choice.reason,
        signals=choice.signals,
        n_retrieved=len(pool.hits),
        n_selected=len(choice.hits),
        generation=snapshot.generation,
        freshness=_freshness(pool, pending),
        took_ms=round((time.perf_counter() - started) * 1e3, 3),
    )


def _freshness(pool: Pool, pending: int) -> dict[str, Any]:
    looks = [index.last_reconcile for index in pool.indexes]
    known = [look for look in looks if look is not None]
    return {
        "pending": pending + sum(index.unembedded for index in pool.indexes),
        "last_reconcile": min(known) if known and len(known) == len(looks) else None,
        "building": [index.corpus for index in pool.indexes if index.last_reconcile is None],
        "degraded": [index.corpus for index in pool.indexes if index.degraded],
        "legs": pool.legs,
    }
