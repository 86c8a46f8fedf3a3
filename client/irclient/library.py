"""What corpora contain: an overview, documents by directory, and those near a new one."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irclient.errors import QueryError
from irclient.results import CorpusStatus
from irclient.types import Hit, Query, SelectSpec

if TYPE_CHECKING:
    from irclient.async_client import AsyncClient

DOCUMENT_KINDS = ("files", "reports")
_SUGGESTED = 5
_NAMED = 3
_SIMILAR = 10
# A lower score than this does not count: a shared function word, or a distant vector.
_LEAST = 0.02


@dataclass(frozen=True, slots=True)
class DirectorySuggestion:
    """A directory for a new document, of which corpus it is, and why it may belong there.

    `confidence` is the share of the best one's scores; `writable`: whether the daemon writes
    documents there.
    """

    path: str
    source: str
    confidence: float
    reason: str
    writable: bool


def make_similar_query(text: str, corpora: Sequence[CorpusStatus]) -> Query:
    """Return the query for the documents that `suggest_directories` goes by.

    It is one for `discover`, with a low floor: a title says little, and a place is soon changed.
    """
    names = tuple(each.name for each in corpora)
    select = SelectSpec("abs_threshold", max_k=_SIMILAR, min_score=_LEAST)
    return Query(text, names, k=_SIMILAR, select=select)


def suggest_directories(
    hits: Sequence[Hit], corpora: Sequence[CorpusStatus]
) -> tuple[DirectorySuggestion, ...]:
    """Return the directories of hits, the one with the highest scores first, five at most.

    Where nothing was found they are the roots of the corpora of documents.
    """
    writable = {each.name: each.writable for each in corpora}
    near = tuple(_describe_nearness(hits, writable)) or tuple(
        DirectorySuggestion(root, each.name, 0.0, "nothing is similar", each.writable)
        for each in corpora
        if each.kind in DOCUMENT_KINDS
        for root in each.roots
    )
    return near[:_SUGGESTED]


def _describe_nearness(
    hits: Sequence[Hit], writable: Mapping[str, bool]
) -> Iterator[DirectorySuggestion]:
    together: defaultdict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        together[os.path.dirname(hit.pointer), hit.corpus].append(hit)
    weights = {place: sum(hit.score for hit in near) for place, near in together.items()}
    most = max(weights.values(), default=0.0) or 1.0
    for place in sorted(weights, key=lambda place: (-weights[place], place)):
        names = ", ".join(hit.name for hit in together[place][:_NAMED])
        if share := round(weights[place] / most, 2):
            may_write = writable.get(place[1], False)
            yield DirectorySuggestion(*place, share, f"near {names}", may_write)


def count_documents(pointers: Iterable[str], roots: Sequence[str], depth: int) -> Counter[str]:
    """Count the documents in each directory and below it, from the roots down to a depth."""
    found: Counter[str] = Counter()
    for pointer in pointers:
        for root in roots:
            found.update(_list_directories(pointer, root, depth))
    return found


def _list_directories(pointer: str, root: str, depth: int) -> Iterator[str]:
    """Yield the directories that a path lies in, from its root down to a depth."""
    if not pointer.startswith(root + "/"):
        return
    parts = os.path.relpath(os.path.dirname(pointer), root).split("/")
    below = [] if parts == ["."] else parts[:depth]
    for end in range(len(below) + 1):
        yield os.path.join(root, *below[:end])


VIEWS = ("sections", "stats", "tree")
_PAGE = 1_000
_EXAMPLES = 3


async def make_overview(client: AsyncClient, view: str, depth: int = 1) -> dict[str, Any]:
    """Return one view of all corpora, with what all contain in numbers.

    `sections` has each corpus with some titles, `stats` the artifacts by type, `tree` the documents
    in each directory down to a `depth` below the roots. Raises QueryError for a depth below 1.
    """
    corpora = (await client.status()).corpora
    seen: dict[str, Any] = {
        "view": view,
        "documents": sum(each.artifacts for each in corpora),
        "chunks": sum(each.records for each in corpora),
        "embeddings": sum(each.vectors for each in corpora),
    }
    if view == "sections":
        seen["sources"] = [await _describe_source(client, each) for each in corpora]
    elif view == "stats":
        types: Counter[str] = Counter()
        for each in corpora:
            types.update((await client.info(each.name)).asset_types)
        seen["asset_types"] = dict(types.most_common())
    else:
        seen["directories"] = await _count_tree(client, corpora, depth)
    return seen


async def _describe_source(client: AsyncClient, corpus: CorpusStatus) -> dict[str, Any]:
    some = await client.artifacts(corpus.name, limit=_EXAMPLES)
    return {
        "source": corpus.name,
        "kind": corpus.kind,
        "paths": list(corpus.roots),
        "documents": corpus.artifacts,
        "state": corpus.state,
        "writable": corpus.writable,
        "examples": [each.name for each in some],
    }


async def _count_tree(
    client: AsyncClient, corpora: Sequence[CorpusStatus], depth: int
) -> list[dict[str, Any]]:
    if depth < 1:
        raise QueryError(f"--depth {depth}", "a number of levels from 1")
    import asyncio

    found: Counter[str] = Counter()
    for corpus in corpora:
        # On a thread, so that a slow disk delays no other call.
        roots = [await asyncio.to_thread(os.path.realpath, root) for root in corpus.roots]
        after = ""
        while page := await client.artifacts(corpus.name, after=after, limit=_PAGE):
            found += count_documents((each.pointer for each in page), roots, depth)
            after = f"{corpus.name}/{page[-1].artifact_id}"
    return [{"path": path, "documents": found[path]} for path in sorted(found)]
