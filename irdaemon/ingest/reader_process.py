"""Read entries in a child process: what `bulk` starts, so that the writer need not read them."""

from __future__ import annotations

import pickle
from dataclasses import replace

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.bulk import ReadRequest
from irdaemon.ingest.optout import OptOuts
from irdaemon.ingest.read import read_entry
from irdaemon.ledger import Upsert
from irdaemon.runtime.memory import tune_allocator
from irdaemon.runtime.parallel import answer
from irdaemon.types import SourceError


class EntryReader:
    """Read what requests name: the corpus and the opt-outs of one scan are those of all of it."""

    def __init__(self) -> None:
        self._scan = 0
        self._corpus: Corpus | None = None
        self._optouts = OptOuts()

    def replied(self, data: bytes) -> bytes:
        """Return the reply to a request: what reading its entries gave, in their order."""
        request: ReadRequest = pickle.loads(data)
        if self._corpus is None or request.scan != self._scan:
            self._scan, self._corpus = request.scan, pickle.loads(request.corpus)
            self._optouts = OptOuts()
        corpus = self._corpus
        read = [_lighter(read_entry(corpus, *each, self._optouts)) for each in request.entries]
        return pickle.dumps(read, pickle.HIGHEST_PROTOCOL)


def _lighter(outcome: Upsert | SourceError | None) -> Upsert | SourceError | None:
    """Leave out what is stored as records and fields anyway: most of what there is to hand over."""
    if not isinstance(outcome, Upsert):
        return outcome
    artifacts = (
        replace(each, artifact=replace(each.artifact, raw="", metadata={}))
        for each in outcome.artifacts
    )
    return replace(outcome, artifacts=tuple(artifacts))


if __name__ == "__main__":
    tune_allocator()
    answer(EntryReader().replied)
