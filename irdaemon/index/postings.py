"""Postings: for each term the records that hold it, in one column-compressed matrix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# For each place its term, its record and its value.
Places = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]
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

    @classmethod
    def in_parts(cls, counts: NDArray[np.int64], parts: Iterable[Places]) -> Postings:
        """Build them from parts of neighbouring records, ascending; `counts` are of all of them.

        Sorting a part at a time takes a fraction of the memory that sorting all at once does.
        """
        n_terms = len(counts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        records = np.empty(int(starts[-1]), np.int32)
        values = np.empty(len(records), np.float32)
        free = starts[:-1].copy()
        for term_ids, of, given in parts:
            order = _by_term(term_ids)
            held = np.bincount(term_ids, minlength=n_terms)
            # Where a term's places begin among all, less where they do in this part.
            offset = free - np.cumsum(held) + held
            places = offset[term_ids[order]] + np.arange(len(order))
            records[places], values[places] = of[order], given[order]
            free += held
        return cls(starts, records, values)

    def of_term(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the records that hold a term, ascending, and their values."""
        if term + 1 >= len(self.starts):
            return _NONE
        place = slice(int(self.starts[term]), int(self.starts[term + 1]))
        return self.records[place], self.values[place]


@dataclass(frozen=True, slots=True)
class SomePostings(Postings):
    """The postings of a few terms: place i of `starts` is that of `terms[i]`, ascending."""

    terms: NDArray[np.int32]

    @classmethod
    def none(cls) -> SomePostings:
        """Return the postings of no term."""
        nothing = np.empty(0, np.int32)
        return cls.of_wanted(nothing, nothing, nothing, np.empty(0, np.float32))

    @classmethod
    def of_wanted(
        cls,
        terms: NDArray[np.int32],
        term_ids: NDArray[np.int32],
        records: NDArray[np.int32],
        values: NDArray[np.float32],
    ) -> SomePostings:
        """Build those of `terms`, ascending, from one (term, record, value) for each place."""
        places = np.searchsorted(terms, term_ids)
        order = np.argsort(places, kind="stable")
        counts = np.bincount(places, minlength=len(terms))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(starts, records[order], values[order], terms)

    def of_term(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the records that hold a term, ascending, and their values."""
        place = int(np.searchsorted(self.terms, np.int32(term)))
        if place == len(self.terms) or self.terms[place] != term:
            return _NONE
        held = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.records[held], self.values[held]


def counted(parts: Iterable[NDArray[np.int32]], n_terms: int = 0) -> NDArray[np.int64]:
    """Return how often each term occurs in all parts together, by id, of `n_terms` at least."""
    counts = np.zeros(n_terms, np.int64)
    for term_ids in parts:
        held = np.bincount(term_ids, minlength=len(counts))
        held[: len(counts)] += counts
        counts = held
    return counts


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
