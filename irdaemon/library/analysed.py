"""Search documents in memory like a corpus, with our analysis and both legs, in a separate index.

The ledger that the index is built from is in memory, and is closed once the index exists.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import ClassVar

from irdaemon.config.corpus import Corpus
from irdaemon.discovery.discover import Models, search
from irdaemon.discovery.query import MAX_K, parse_search
from irdaemon.embed import Embedder
from irdaemon.embed.pool import Absent
from irdaemon.index import Snapshot, Space, index_corpus
from irdaemon.ingest.reconcile import ScanObserver, embed, reconcile
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import IN_MEMORY, Ledger
from irdaemon.library.inmemory import Document
from irdaemon.runtime.deadline import check_clock
from irdaemon.strategy import Chunked
from irdaemon.types import Artifact, Entry, Query, Reading, Root, Scan

_NAME = "documents"
_EMBEDDED_AT_ONCE = 512


class DocumentSource:
    """Serve documents by their positions, from 0. They have no names."""

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, documents: Sequence[Document]):
        self._documents = documents

    def roots(self) -> tuple[Root, ...]:
        """Return no roots: there is nothing on disk to watch."""
        return ()

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the documents."""
        return Scan(tuple(Entry(str(at), "", "1") for at in range(len(self._documents))), ("",))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Return one document."""
        text = self._documents[int(entry.key)].text
        return Reading((Artifact(entry.key, text, "", body=text),))


def index_documents(documents: Sequence[Document], embedder: Embedder) -> Snapshot:
    """Return documents as a snapshot of one corpus; with an Absent embedder, without vectors.

    Raises Unavailable at the deadline of the request, or if the embedder fails.
    """
    corpus = Corpus(_NAME, _NAME, DocumentSource(documents), Chunked(), embedder.id)
    with contextlib.closing(Ledger(IN_MEMORY)) as ledger:
        ledger.corpora.declare(_NAME, corpus.kind, corpus.recipe, embedder.id)
        observer = ScanObserver(_advance)
        reconcile(ledger, corpus, ScanRequest(), time.time, observer)
        if not isinstance(embedder, Absent):
            for _ in embed(ledger, _NAME, embedder, _EMBEDDED_AT_ONCE):
                check_clock()
        index = index_corpus(ledger, _NAME, Space(corpus.recipe, embedder.id, embedder.dim))
        return Snapshot(0, {_NAME: index}, ledger.terms.get_table())


def _advance(done: int, todo: int) -> bool:
    check_clock()
    return False


def rank_documents(
    snapshot: Snapshot, query: str, k: int, models: Models
) -> list[tuple[int, float]]:
    """Return the positions, from 0, and scores of the best `k` documents, best first.

    No floor is applied; documents with the same text are merged into the first of them.
    """
    if not query.strip():
        return []
    asked = parse_search(Query(query, k=min(k, MAX_K)))
    hits = search(snapshot, asked, models).selection.results
    return [(int(hit.artifact_id), hit.score) for hit in hits]
