"""The lexical leg: Okapi BM25 over the corpus' records, by bm25s.

bm25s scores from a column-compressed matrix and lets a subclass build that matrix its own way.
This one builds it from the term counts the ledger keeps, in a few array operations, so that a
change costs milliseconds where re-indexing texts would cost seconds. Statistics are those of the
whole corpus, whatever a query filters.

Score: sum over query terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean)), with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)) (Robertson and Zaragoza 2009, Lucene's idf).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows

K1 = 1.5
B = 0.75


class Lexical(bm25s.BM25):  # type: ignore[misc]
    """An immutable BM25 index over the records of `rows`."""

    def __init__(self, rows: Rows):
        super().__init__(k1=K1, b=B, method="lucene", backend="numpy")
        self.nonoccurrence_array = None
        self._weights = np.empty(0, np.float32)
        self.mean_length = 0.0
        self.scores = self._matrix(rows)

    def ranked(self, terms: Sequence[int]) -> NDArray[np.float32]:
        """Score every record against the ids of a query's terms; unknown ids add nothing."""
        known = [term for term in terms if term < self._n_terms]
        if not known:
            return np.zeros(self.scores["num_docs"], np.float32)
        scores: NDArray[np.float32] = self.get_scores_from_ids(known)
        return scores

    def weights(self, terms: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the idf of terms, by id; one that no record holds weighs as much as any can."""
        weights: NDArray[np.float32] = self._weights[np.minimum(terms, self._n_terms)]
        return weights

    def parts(self, position: int, terms: Sequence[int]) -> list[float]:
        """Return what each term adds to one record's score."""
        starts, records = self.scores["indptr"], self.scores["indices"]
        parts = []
        for term in terms:
            part = 0.0
            if term < self._n_terms:
                start, end = int(starts[term]), int(starts[term + 1])
                at = start + int(np.searchsorted(records[start:end], position))
                if at < end and records[at] == position:
                    part = float(self.scores["data"][at])
            parts.append(part)
        return parts

    def mass(self, terms: Sequence[int], unknown: int) -> float:
        """Return ln(1 + the sum of the idf) of distinct terms by id, and of unknown ones."""
        ids = np.array([*terms, *[self._n_terms] * unknown], np.int32)
        return float(np.log1p(self.weights(ids).sum()))

    def score(self, counts: Mapping[int, float], length: float) -> float:
        """Return the BM25 score of a record of a length that holds `counts` of a query's terms."""
        norm = K1 * (1 - B + B * length / self.mean_length)
        idf = self.weights(np.array(list(counts), np.int32))
        held = np.array(list(counts.values()), np.float32)
        return float((idf * held * (K1 + 1) / (held + norm)).sum())

    @property
    def _n_terms(self) -> int:
        return len(self.scores["indptr"]) - 1

    def _matrix(self, rows: Rows) -> dict[str, Any]:
        n_records = len(rows.shown)
        sizes = rows.lengths()
        record_of = np.repeat(np.arange(n_records, dtype=np.int32), sizes)
        order = _by_term(rows.term_ids)
        term_ids, records = rows.term_ids[order], record_of[order]
        df = np.bincount(term_ids)
        counts = rows.term_counts[order]
        lengths = np.bincount(record_of, rows.term_counts, minlength=n_records)
        mean = self.mean_length = max(float(lengths.mean()) if n_records else 0.0, 1e-9)
        norm = (K1 * (1 - B + B * lengths / mean)).astype(np.float32)
        idf = np.log1p((n_records - df + 0.5) / (df + 0.5)).astype(np.float32)
        # The last is the weight of a term that no record holds.
        self._weights = np.append(idf, np.float32(np.log1p((n_records + 0.5) / 0.5)))
        data = idf[term_ids] * (counts * np.float32(K1 + 1) / (counts + norm[records]))
        return {
            "data": data,
            "indices": records,
            "indptr": np.concatenate([[0], np.cumsum(df)]),
            "num_docs": n_records,
        }


def _by_term(term_ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the stable order of term ids.

    Sorting (id, place) packed into one number each is several times faster than an argsort.
    """
    packed = (term_ids.astype(np.int64) << 32) | np.arange(len(term_ids))
    packed.sort()
    return packed & 0xFFFFFFFF
