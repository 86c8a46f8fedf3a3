"""Operations on documents that clients send: they are ranked here, and kept in memory."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from irclient.errors import LimitError, NotFound, QueryError, Unavailable
from irclient.results import FoundDocument
from irdaemon.embed import Embedder
from irdaemon.embed.pool import Absent
from irdaemon.engine.reader import QueryEngine
from irdaemon.engine.state import QueryState
from irdaemon.index import Snapshot
from irdaemon.library import analysed, inmemory
from irdaemon.library.analysed import index_documents
from irdaemon.library.inmemory import Document, DocumentIndex, build_index
from irdaemon.runtime.deadline import check_clock
from irdaemon.runtime.plugins import did_you_mean
from irdaemon.serve import access
from irdaemon.serve.access import DOCUMENTS, Args
from irdaemon.serve.endpoints import ConnectionStore, Sender
from irdaemon.serve.operations import serves
from irdaemon.source.mapping import write_canonical_json
from irdaemon.source.redact import Redactor
from irdaemon.types import Refused

_CONTRACTS = ("bm25", "full")
NO_EMBEDDER = Absent("documents", Unavailable("no corpus has an embedder"))


# A client's own documents: its permissions for corpora do not matter.
@serves("discover_in", "heavy", access.allow, front=True)
def discover_in(engine: QueryEngine, args: Args) -> Any:
    """Rank the client's own documents: those it sends, or those it registered."""
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
        ranking = inmemory.ranked(documents.build_bm25(), query, top_k)
    else:
        snapshot = documents.analyse(lambda: _find_usual_embedder(engine.state))
        ranking = analysed.rank_documents(snapshot, query, top_k, engine.state.models)
    found = ((at, documents.documents[at], score) for at, score in ranking)
    return [FoundDocument(at, each.text, each.meta, score) for at, each, score in found]


def _make_set(given: Any) -> DocumentSet:
    each = enumerate(inmemory.as_documents(given), start=1)
    documents, limits = DocumentSet([_redact(one, at) for at, one in each]), DocumentLimits()
    _check("documents", len(documents.documents), limits.documents)
    _check("bytes of documents", documents.bytes, limits.bytes)
    return documents


def _check_connected(documents: ClientDocuments | None) -> ClientDocuments:
    if documents is None:
        raise Unavailable("the connection has ended", "register the documents again")
    return documents


def _find_usual_embedder(state: QueryState) -> Embedder:
    """Return the embedder of most corpora, which is already loaded."""
    names = Counter(corpus.embedder for corpus in state.corpora.values()).most_common(1)
    if names:
        return state.embedders.get_embedder(names[0][0])
    ids = Counter(index.embedder for index in state.snapshot.corpora.values())
    made = (state.embedders.find_made(each) for each, _ in ids.most_common())
    return next((each for each in made if each and not isinstance(each, Absent)), NO_EMBEDDER)


@serves("register_docs", "heavy", access.allow, front=True)
def register_docs(engine: QueryEngine, docs: list[Any], documents: ClientDocuments | None) -> Any:
    """Keep documents while the client's connection lives; return their handle."""
    return _check_connected(documents).register(_make_set(docs))


@serves("drop_docs", "quick", access.allow, front=True)
def drop_docs(engine: QueryEngine, handle: str, documents: ClientDocuments | None) -> Any:
    """Forget registered documents; return how many."""
    return _check_connected(documents).drop(handle)


# Documents from clients: kept in memory while the connection lives, with limits.
#
# A client's registered documents are found only by its connection and a handle; they are in no
# corpus, ledger, log or event. They are dropped when the connection ends, as reported by the
# endpoint's monitor, or after ten minutes without a request from that client.
#
# The loop's thread finds the ClientDocuments of a request, and ends them; workers register and
# query.

_REDACTION = "tokens"
_LOOKED_AT_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The limits of registration: by one client on one connection, in total, and in time.

    `documents` and `bytes` limit each client, `handles` its number of lists; `all_bytes` limits all
    clients together; `idle_s` is how long a client may send no request.
    """

    documents: int = 10_000
    bytes: int = 8 * 1024 * 1024
    handles: int = 1_000
    all_bytes: int = 64 * 1024 * 1024
    idle_s: float = 600.0


class DocumentSet:
    """Some documents, and an index for each contract, built on first use."""

    def __init__(self, documents: Sequence[Document]):
        self.documents = tuple(documents)
        self.bytes = sum(map(_measure, documents))
        self._lock = threading.Lock()
        self._bm25: DocumentIndex | None = None
        self._analysed: Snapshot | None = None

    def build_bm25(self) -> DocumentIndex:
        """Return the index of the BM25 contract."""
        with self._lock:
            if self._bm25 is None:
                self._bm25 = build_index(self.documents)
            return self._bm25

    def analyse(self, embedder: Callable[[], Embedder]) -> Snapshot:
        """Return the documents as a corpus, with an embedder's vectors."""
        with self._lock:
            if self._analysed is None:
                self._analysed = index_documents(self.documents, embedder())
            return self._analysed


def _measure(document: Document) -> int:
    meta = write_canonical_json(document.meta) if document.meta else ""
    return len(document.text.encode("utf-8", "replace")) + len(meta.encode("utf-8", "replace"))


def _redact(document: Document, place: int) -> Document:
    cleaner = Redactor(_REDACTION)
    try:
        return Document(cleaner.redact_text(document.text), cleaner.redact_value(document.meta))
    except Refused as error:
        raise QueryError(f"document {place}: {error.message}", error.hint) from error


def _check(what: str, wanted: int, limit: int) -> None:
    if wanted > limit:
        raise LimitError(
            f"{wanted:,} {what}, the limit is {limit:,} on a connection",
            "send fewer, or drop some first (drop_docs)",
        )


class ClientDocuments:
    """The documents that one client registered on one connection. Any thread may use it."""

    def __init__(self, store: DocumentStore, now: float):
        self.used_at = now
        self.ended = False
        self._store = store
        self._sets: dict[str, DocumentSet] = {}

    def register(self, documents: DocumentSet) -> str:
        """Register documents; return their handle. Raises LimitError, Unavailable after the end."""
        check_clock()
        with self._store.lock:
            if self.ended:
                raise Unavailable("the connection has ended", "register the documents again")
            self._check_room(documents)
            self._store.bytes += documents.bytes
            handle = secrets.token_hex(8)
            self._sets[handle] = documents
        return handle

    def _check_room(self, more: DocumentSet) -> None:
        limits, held = self._store.limits, self._sets.values()
        _check("lists of documents", len(held) + 1, limits.handles)
        count = sum(len(each.documents) for each in held)
        _check("documents", count + len(more.documents), limits.documents)
        _check("bytes of documents", self.bytes + more.bytes, limits.bytes)
        if self._store.bytes + more.bytes > limits.all_bytes:
            raise LimitError(
                f"the documents of all clients together may have {limits.all_bytes:,} bytes",
                "try again later, or ask with the documents themselves",
            )

    @property
    def bytes(self) -> int:
        """Return the size of the registered documents."""
        return sum(each.bytes for each in self._sets.values())

    def get(self, handle: str) -> DocumentSet:
        """Return the documents registered under a handle. Raises NotFound."""
        found = self._sets.get(handle)
        if found is None:
            raise NotFound(
                f"no documents are registered as {handle!r:.60} on this connection",
                "register them again: they go with the connection, and after ten idle minutes",
            )
        return found

    def drop(self, handle: str) -> int:
        """Drop the documents registered under a handle; return how many. Raises NotFound."""
        with self._store.lock:
            found = self.get(handle)
            del self._sets[handle]
            self._store.bytes -= found.bytes
        return len(found.documents)

    def end(self) -> None:
        """Drop everything; nothing can be registered any more."""
        with self._store.lock:
            self._store.bytes -= self.bytes
            self.ended = True
            self._sets.clear()


class DocumentStore(ConnectionStore):
    """The documents of all clients. All but `lock` and `bytes` belongs to the loop's thread."""

    def __init__(self, limits: DocumentLimits = DocumentLimits()):
        self.limits = limits
        self.lock = threading.Lock()
        self.bytes = 0
        self.clients: dict[Sender, ClientDocuments] = {}
        self._look_at = 0.0

    def find(self, sender: Sender, now: float) -> ClientDocuments:
        """Return the documents of a connected client."""
        found = self.clients.get(sender)
        if found is None:
            found = self.clients[sender] = ClientDocuments(self, now)
        found.used_at = now
        return found

    def note_request(self, sender: Sender, now: float) -> None:
        """Restart the timeout of a client's documents, if it has any."""
        if (found := self.clients.get(sender)) is not None:
            found.used_at = now

    def end_connection(self, address: str, descriptor: int) -> None:
        """Drop the documents registered on a connection that ended."""
        self._end(
            sender
            for sender in self.clients
            if (sender.address, sender.descriptor) == (address, descriptor)
        )

    def expire(self, now: float) -> None:
        """Drop the documents of clients that have sent no request for too long."""
        if now < self._look_at:
            return
        self._look_at = now + _LOOKED_AT_EVERY_S
        since = now - self.limits.idle_s
        self._end(sender for sender, each in self.clients.items() if each.used_at < since)

    def _end(self, senders: Iterable[Sender]) -> None:
        for sender in tuple(senders):
            self.clients.pop(sender).end()
