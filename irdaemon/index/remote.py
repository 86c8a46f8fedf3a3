"""A corpus that lies in a backend: an index without rows, and the parts of it that queries need.

A part is an index of some hundred records with the statistics of the whole. What a query finds in
it, it finds in the whole, in the same order and with the same scores: the part holds the top of
both legs, and whatever is called by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.index import CorpusIndex, Whole
from irdaemon.index.backend import Found, IndexBackend, Totals, Wanted
from irdaemon.index.columns import Columns
from irdaemon.index.dense import Dense
from irdaemon.index.lexical import Lexical, saturated_postings
from irdaemon.index.names import Names
from irdaemon.index.postings import Postings, SomePostings
from irdaemon.index.rows import Rows, symbol_words

# Words kept of one ledger: a dictionary of as many takes some 20 MB.
_MOST_WORDS = 200_000


@dataclass(slots=True)
class Vocabularies:
    """The words of ledgers that queries and their parts had to do with, by the ledgers' identity.

    Indexes of one ledger share a dictionary, as term ids are the ledger's.
    """

    _of: dict[str, dict[str, int]] = field(default_factory=dict)

    def of(self, ledger: str) -> dict[str, int]:
        """Return the dictionary of a ledger, which grows; a new one where it became large."""
        known = self._of.setdefault(ledger, {})
        if len(known) > _MOST_WORDS:
            known = self._of[ledger] = {}
        return known


@dataclass(frozen=True, slots=True)
class RemoteCorpus:
    """Where a corpus lies, for an index that has no rows of it.

    `including` are artifacts, by id, that every part has, whatever the query.
    """

    backend: IndexBackend
    totals: Totals
    vocabularies: Vocabularies
    including: tuple[str, ...] = ()

    def having(self, artifact_ids: tuple[str, ...]) -> RemoteCorpus:
        """Return the same corpus, of which every part has these artifacts, whatever the query."""
        return replace(self, including=artifact_ids)

    def part(self, wanted: Wanted) -> CorpusIndex:
        """Return the part of the corpus that a query needs. Raises Unavailable."""
        wanted = replace(wanted, including=(*wanted.including, *self.including))
        found = self.backend.found(self.totals.corpus, wanted)
        vocabulary = self.vocabularies.of(found.totals.ledger)
        vocabulary.update(found.words)
        about = symbol_words(found.records) - vocabulary.keys()
        if about:
            vocabulary.update(self.backend.words(self.totals.corpus, about))
        rows = _rows(found, vocabulary)
        df = {**found.df, **self._frequencies(rows, found.df)}
        return replace(_index(found, rows, df, vocabulary), elsewhere=self)

    def _frequencies(self, rows: Rows, known: Mapping[int, int]) -> Mapping[int, int]:
        """Return the frequencies of the terms of names and symbols that are not known."""
        ids = {*rows.names.values[0].array.tolist(), *rows.symbols.values[0].array.tolist()}
        missing = ids - known.keys()
        return self.backend.frequencies(self.totals.corpus, missing) if missing else {}

    def frequency(self, word: str) -> int:
        """Return how many records hold a word."""
        corpus = self.totals.corpus
        term = self.backend.words(corpus, [word]).get(word)
        return 0 if term is None else self.backend.frequencies(corpus, [term]).get(term, 0)

    def words_like(self, initials: Collection[str], lengths: range) -> Iterable[str]:
        """Return the words that begin with one of the letters and have a length."""
        return self.backend.words_like(self.totals.corpus, initials, lengths)

    def rank(self, wanted: Wanted, leg: str, score: float) -> int:
        """Return which place a score has among all records in a leg, from 1."""
        return self.backend.rank(self.totals.corpus, wanted, leg, score) + 1


def remote_index(backend: IndexBackend, totals: Totals, vocabularies: Vocabularies) -> CorpusIndex:
    """Return the index of a corpus that lies in a backend, as of one generation."""
    rows = Rows.empty(totals.dim)
    empty = _of_rows(rows, Lexical.of(rows), totals, totals.n_records)
    return replace(
        empty,
        elsewhere=RemoteCorpus(backend, totals, vocabularies),
        vocabulary=vocabularies.of(totals.ledger),
    )


def _rows(found: Found, vocabulary: Mapping[str, int]) -> Rows:
    dim = found.totals.dim
    rows = Rows.built(found.artifacts, found.records, dim, vocabulary)
    embedded = np.array([vector is not None for vector in found.vectors], np.bool_)
    packed = b"".join(vector for vector in found.vectors if vector is not None)
    rows.vectors.array[embedded] = np.frombuffer(packed, np.float32).reshape(-1, max(dim, 1))[
        :, :dim
    ]
    return replace(rows, embedded=embedded)


def _index(
    found: Found, rows: Rows, df: Mapping[int, int], vocabulary: Mapping[str, int]
) -> CorpusIndex:
    totals = found.totals
    counted = np.zeros(max(df, default=-1) + 1, np.int64)
    counted[list(df)] = list(df.values())
    wanted = np.array(sorted(found.words.values()), np.int32)
    base, length = _postings(rows, wanted, totals.mean_length), len(rows.present)
    lexical = Lexical(
        rows, totals.mean_length, base, SomePostings.none(), length, counted, totals.n_records
    )
    return replace(_of_rows(rows, lexical, totals, found.eligible), vocabulary=vocabulary)


def _postings(rows: Rows, wanted: NDArray[np.int32], mean: float) -> Postings:
    """Return the postings of the wanted terms, by id ascending."""
    ids, records, values = saturated_postings(rows, 0, len(rows.present), mean)
    kept = np.isin(ids, wanted)
    return SomePostings.of_wanted(wanted, ids[kept], records[kept], values[kept])


def _of_rows(rows: Rows, lexical: Lexical, totals: Totals, eligible: int) -> CorpusIndex:
    return CorpusIndex(
        corpus=totals.corpus,
        embedder=totals.embedder,
        rows=rows,
        lexical=lexical,
        dense=Dense(rows),
        columns=Columns(rows),
        names=Names.of(rows, lexical),
        floors=totals.floors,
        last_reconcile=totals.last_reconcile,
        degraded=totals.degraded,
        by_hand=totals.by_hand,
        whole=Whole(totals, eligible),
    )
