"""The operations on documents that clients bring along: ranked here, and kept in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from irclient.errors import QueryError, Unavailable
from irclient.results import FoundDocument
from irdaemon.contrib.documents.store import (
    ClientDocuments,
    DocumentLimits,
    DocumentSet,
    check_size,
    redact_documents,
)
from irdaemon.discovery.discover import Models
from irdaemon.embed import Embedder
from irdaemon.embed.pool import Absent
from irdaemon.engine.reader import QueryEngine
from irdaemon.engine.state import QueryState
from irdaemon.library import analysed, inmemory
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.serve import access
from irdaemon.serve.access import DOCUMENTS, Args
from irdaemon.serve.operations import serves

_CONTRACTS = ("bm25", "full")
NO_EMBEDDER = Absent("documents", Unavailable("no corpus has an embedder"))


# A client's own documents: what it may see of the corpora does not matter.
@serves("discover_in", "heavy", access.allow, front=True)
def discover_in(engine: QueryEngine, args: Args) -> Any:
    """Rank documents of the client's own: those it sends, or those it registered."""
    return rank_documents(args, lambda: _find_usual_embedder(engine.state), engine.state.models)


def rank_documents(
    args: Args, embedder: Callable[[], Embedder], models: Models
) -> list[FoundDocument]:
    """Rank documents of the client's own, by an embedder where it asks for that."""
    contract, top_k, given = args["contract"], args["top_k"], args["docs"]
    if contract not in _CONTRACTS:
        raise QueryError(
            f"unknown contract {contract!r:.60}{did_you_mean(contract, _CONTRACTS)}",
            f"contracts: {', '.join(_CONTRACTS)}",
        )
    inmemory.check_count("top_k", top_k)
    query, own = args["query"], args[DOCUMENTS]
    documents = _check_connected(own).get(given) if isinstance(given, str) else _make_set(given)
    if contract == "bm25":
        ranking = inmemory.ranked(documents.bm25(), query, top_k)
    else:
        snapshot = documents.analysed(embedder)
        ranking = analysed.rank_documents(snapshot, query, top_k, models)
    found = ((at, documents.documents[at], score) for at, score in ranking)
    return [FoundDocument(at, each.text, each.meta, score) for at, each, score in found]


def _make_set(given: Any) -> DocumentSet:
    documents = DocumentSet(redact_documents(inmemory.as_documents(given)))
    check_size(documents, DocumentLimits())
    return documents


def _check_connected(documents: ClientDocuments | None) -> ClientDocuments:
    if documents is None:
        raise Unavailable("the connection has ended", "register the documents again")
    return documents


def _find_usual_embedder(state: QueryState) -> Embedder:
    """Return the embedder that most corpora have; it is there already."""
    names = Counter(corpus.embedder for corpus in state.corpora.values()).most_common(1)
    if names:
        return state.embedders.named(names[0][0])
    ids = Counter(index.embedder for index in state.snapshot.corpora.values())
    made = (state.embedders.find_made(each) for each, _ in ids.most_common())
    return next((each for each in made if each and not isinstance(each, Absent)), NO_EMBEDDER)


@serves("register_docs", "heavy", access.allow, front=True)
def register_docs(engine: QueryEngine, docs: list[Any], documents: ClientDocuments | None) -> Any:
    """Keep documents for as long as the client's connection lives; return their handle."""
    return _check_connected(documents).register(_make_set(docs))


@serves("drop_docs", "quick", access.allow, front=True)
def drop_docs(engine: QueryEngine, handle: str, documents: ClientDocuments | None) -> Any:
    """Forget documents that were registered; return how many."""
    return _check_connected(documents).drop(handle)
