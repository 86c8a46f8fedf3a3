"""Read entries in a child process: what `bulk` starts, so that the writer need not read them."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from irdaemon.config.corpus import Corpus
from irdaemon.ingest.bulk import ReadRequest
from irdaemon.ingest.optout import OptOuts
from irdaemon.ingest.read import read_entry
from irdaemon.ledger import Decomposed, TabledTerms, Upsert
from irdaemon.runtime.memory import settle, tune_allocator
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
        reply = _Reply()
        read = [reply.lighter(read_entry(corpus, *each, self._optouts)) for each in request.entries]
        reply.close()
        return pickle.dumps(read, pickle.HIGHEST_PROTOCOL)


class _Reply:
    """What is handed over of one request: all its records share one table of terms."""

    def __init__(self) -> None:
        self._terms: list[str] = []
        # Each term has its place from its first use on, without a line of Python for it.
        self._places = defaultdict[str, int](count().__next__)

    def lighter(self, outcome: Upsert | SourceError | None) -> Upsert | SourceError | None:
        """Leave out what is stored as records and fields anyway, and each term but once."""
        if not isinstance(outcome, Upsert):
            return outcome
        return replace(outcome, artifacts=tuple(map(self._lighter, outcome.artifacts)))

    def _lighter(self, made: Decomposed) -> Decomposed:
        self._numbers(made.name_terms)  # first, as they are stored first
        records = tuple(replace(each, terms=self._tabled(each.terms)) for each in made.records)
        return replace(made, artifact=replace(made.artifact, raw="", metadata={}), records=records)

    def _tabled(self, terms: Mapping[str, int] | TabledTerms) -> TabledTerms:
        assert not isinstance(terms, TabledTerms)  # as they come from reading
        counts = np.fromiter(terms.values(), np.float32, len(terms))
        return TabledTerms(self._terms, self._numbers(terms).tobytes(), counts.tobytes())

    def _numbers(self, terms: Collection[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self._places.__getitem__, terms), np.int32, len(terms))

    def close(self) -> None:
        """Fill the table: all terms are known now."""
        self._terms += self._places


if __name__ == "__main__":
    tune_allocator()
    settle()
    answer(EntryReader().replied)
