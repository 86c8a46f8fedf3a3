"""Postings: for each term the records that hold it, in one column-compressed matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NONE = (np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Postings:
    """Term t is held by `records[starts[t]:starts[t + 1]]`, with `values` beside them."""

    starts: NDArray[np.int64]
    records: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of(
        cls, term_ids: NDArray[np.int32], records: NDArray[np.int32], values: NDArray[np.float32]
    ) -> Postings:
        """Build them from one (term, record, value) for each place, records ascending."""
        order = _by_term(term_ids)
        starts = np.concatenate([[0], np.cumsum(np.bincount(term_ids))])
        return cls(starts, records[order], values[order])

    def of_term(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the records that hold a term, ascending, and their values."""
        if term + 1 >= len(self.starts):
            return _NONE
        place = slice(int(self.starts[term]), int(self.starts[term + 1]))
        return self.records[place], self.values[place]


def _by_term(term_ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the stable order of term ids.

    numpy sorts 16-bit numbers by radix, several times faster than wider ones: first the lower half,
    then, where there are so many terms, the upper.
    """
    order = np.argsort(term_ids.astype(np.uint16), kind="stable")
    if not len(term_ids) or int(term_ids.max()) < 1 << 16:
        return order
    upper = (term_ids >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")]
