"""The lexical leg: Okapi BM25 over the corpus' records, updated by what changed.

The score of a record is the sum over query terms of idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b *
length / mean)), with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) (Robertson and Zaragoza 2009,
Lucene's idf). Statistics are those of the whole corpus, also for a filtered query.

Everything but idf is stored with each posting, in a base and, for newer records, a small tail that
each change rebuilds; idf is computed at the query, without deleted records. So a change costs only
its tail, and scores equal those of a fresh build: the only corpus statistic inside postings is the
mean length, in steps of 2%, and when it moves a step the base is built again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.rows import Rows
from irdaemon.types import Tuning

# Postings: for each term the records that hold it, in one column-compressed matrix.

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
    def from_places(
        cls, term_ids: NDArray[np.int32], records: NDArray[np.int32], values: NDArray[np.float32]
    ) -> Postings:
        """Build postings from one (term, record, value) for each place, records ascending."""
        if _are_few(term_ids):
            return SomePostings.build_for(np.unique(term_ids), term_ids, records, values)
        order = _order_by_term(term_ids)
        starts = np.concatenate([[0], np.cumsum(np.bincount(term_ids))])
        return cls(starts, records[order], values[order])

    @classmethod
    def in_parts(cls, counts: NDArray[np.int64], parts: Iterable[Places]) -> Postings:
        """Build postings from parts of neighbouring records, ascending; `counts` covers them all.

        Sorting one part at a time takes a fraction of the memory of sorting all at once.
        """
        n_terms = len(counts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        records = np.empty(int(starts[-1]), np.int32)
        values = np.empty(len(records), np.float32)
        free = starts[:-1].copy()
        for term_ids, of, given in parts:
            order = _order_by_term(term_ids)
            held = np.bincount(term_ids, minlength=n_terms)
            # The offset of a term's places among all, minus their offset in this part.
            offset = free - np.cumsum(held) + held
            places = offset[term_ids[order]] + np.arange(len(order))
            records[places], values[places] = of[order], given[order]
            free += held
        return cls(starts, records, values)

    @property
    def dense_starts(self) -> NDArray[np.int64]:
        """Return the start of each term's records, by id, and the end of the last."""
        return self.starts

    def get_postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
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
        return cls.build_for(nothing, nothing, nothing, np.empty(0, np.float32))

    @classmethod
    def build_for(
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

    @property
    def dense_starts(self) -> NDArray[np.int64]:
        """Return the start of each term's records, by id, and the end of the last."""
        counts = np.zeros(int(self.terms[-1]) + 1 if len(self.terms) else 0, np.int64)
        counts[self.terms] = np.diff(self.starts)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    def get_postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the records that hold a term, ascending, and their values."""
        place = int(np.searchsorted(self.terms, np.int32(term)))
        if place == len(self.terms) or self.terms[place] != term:
            return _NONE
        held = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.records[held], self.values[held]


@dataclass(frozen=True, slots=True)
class Segments(Postings):
    """The postings of neighbouring records in parts; part i ends before record `ends[i]`.

    For a large corpus that is being built: new records change only the last parts.
    """

    parts: tuple[Postings, ...]
    ends: tuple[int, ...]

    @classmethod
    def from_parts(cls, parts: Sequence[Postings], ends: Sequence[int]) -> Segments:
        """Take over the postings of neighbouring records."""
        return cls(np.zeros(1, np.int64), *_NONE, tuple(parts), tuple(ends))

    @property
    def dense_starts(self) -> NDArray[np.int64]:
        """Return the start of each term's records, by id, and the end of the last."""
        starts = np.zeros(max(len(part.dense_starts) for part in self.parts), np.int64)
        for part in self.parts:
            theirs = part.dense_starts
            starts[: len(theirs)] += theirs
            starts[len(theirs) :] += theirs[-1]
        return starts

    def get_postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the records that hold a term, ascending, and their values."""
        found = [each for part in self.parts if len((each := part.get_postings(term))[0])]
        if len(found) < 2:
            return found[0] if found else _NONE
        records, values = zip(*found, strict=True)
        return np.concatenate(records), np.concatenate(values)

    def merge(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32]]]:
        """Yield the records and values of all parts by term, some terms at a time."""
        starts = self.dense_starts
        first, theirs = 0, [part.dense_starts for part in self.parts]
        while first < len(starts) - 1:
            last = int(np.searchsorted(starts, starts[first] + _COUNTED, "right")) - 1
            last = max(last, first + 1)
            n = int(starts[last] - starts[first])
            records, values = np.empty(n, np.int32), np.empty(n, np.float32)
            free = starts[first:last] - starts[first]
            for part, of in zip(self.parts, theirs, strict=True):
                bounds = of[np.minimum(np.arange(first, last + 1), len(of) - 1)]
                held, place = np.diff(bounds), slice(int(bounds[0]), int(bounds[-1]))
                # The offset of a term's places among all, minus their offset in this part.
                places = np.repeat(free - (bounds[:-1] - bounds[0]), held)
                places += np.arange(len(places))
                records[places], values[places] = part.records[place], part.values[place]
                free += held
            yield records, values
            first = last


def count_terms(parts: Iterable[NDArray[np.int32]], n_terms: int = 0) -> NDArray[np.int64]:
    """Return how often each term occurs in all parts, by id, for at least `n_terms` terms."""
    counts = np.zeros(n_terms, np.int64)
    for term_ids in parts:
        held = np.bincount(term_ids, minlength=len(counts))
        held[: len(counts)] += counts
        counts = held
    return counts


_LAST_TERM = np.iinfo(np.int32).max


def _are_few(term_ids: NDArray[np.int32]) -> bool:
    """Return whether an array over all known terms would be most of an index' memory.

    A vocabulary is shared by all corpora and projects.
    """
    return bool(len(term_ids)) and int(term_ids.max()) > len(term_ids)


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The number of records with each term: `values[t]` for term t, 0 beyond."""

    values: NDArray[np.int64]

    def count(self, terms: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many records hold each of some terms, by id."""
        counts = self.values.take(terms, mode="clip") if len(self.values) else terms
        return np.where(terms < len(self.values), counts, 0)

    def count_one(self, term: int) -> int:
        """Return how many records hold a term, by its id; -1 is no term."""
        return self.values.item(term) if 0 <= term < len(self.values) else 0

    @property
    def dense(self) -> NDArray[np.int64]:
        """Return the counts of all terms, by id."""
        return self.values


@dataclass(frozen=True, slots=True)
class FewTermCounts(TermCounts):
    """The counts of a few terms: `values[i]` is that of `terms[i]`, ascending."""

    terms: NDArray[np.int32]

    @classmethod
    def from_term_ids(cls, term_ids: NDArray[np.int32]) -> FewTermCounts:
        """Count the places of each term."""
        terms, counts = np.unique(term_ids, return_counts=True)
        return cls(counts.astype(np.int64), terms)

    def count(self, terms: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many records hold each of some terms, by id."""
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        return np.where(self.terms[places] == terms, self.values[places], 0)

    def count_one(self, term: int) -> int:
        """Return how many records hold a term, by its id; -1 is no term."""
        return int(self.count(np.array([term], np.int64))[0])

    @property
    def dense(self) -> NDArray[np.int64]:
        """Return the counts of all terms, by id."""
        counts = np.zeros(int(self.terms[-1]) + 1, np.int64)
        counts[self.terms] = self.values
        return counts


@dataclass(frozen=True, slots=True)
class JoinedTermCounts(TermCounts):
    """The counts of two indexes that share a vocabulary; `values` are the first's."""

    first: TermCounts
    second: TermCounts

    def count(self, terms: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many records hold each of some terms, by id."""
        return self.first.count(terms) + self.second.count(terms)

    def count_one(self, term: int) -> int:
        """Return how many records hold a term, by its id; -1 is no term."""
        return self.first.count_one(term) + self.second.count_one(term)

    @property
    def dense(self) -> NDArray[np.int64]:
        """Return the counts of all terms, by id."""
        first, second = self.first.dense, self.second.dense
        counts = np.zeros(max(len(first), len(second)), np.int64)
        counts[: len(first)] += first
        counts[: len(second)] += second
        return counts


def _order_by_term(term_ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the stable order of term ids.

    numpy sorts 16-bit numbers by radix, several times faster than wider ones: first the lower half,
    then, where there are so many terms, the upper.
    """
    order = np.argsort(term_ids.astype(np.uint16), kind="stable")
    if not len(term_ids) or int(term_ids.max()) < 1 << 16:
        return order
    upper = (term_ids >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")]


K1 = Tuning().k1
B = Tuning().b

_MEAN_STEP = 1.02
# The tail is merged into the base at this many records, or this share of all.
_TAIL = 1_000
_TAIL_SHARE = 0.02
# Postings of more records are built in parts of at least a thirty-second.
_AT_ONCE, _PARTS = 512, 32
# From this many records on, a growing base consists of segments of at most an eighth.
_SEGMENTED, _SEGMENTS = 4_096, 8
# numpy counts a copy of twice the size.
_COUNTED = 1 << 20
# Below the step of 32-bit floats of this size; no count is larger.
_LEAST_LEFT = 1e-7


@dataclass(frozen=True, slots=True)
class Lexical:
    """A BM25 index over the records of `rows`.

    `base` holds the first `based` records, `tail` the others; `counts` has by term, `n` in all, how
    many records are present.
    """

    rows: Rows
    mean_length: float
    base: Postings
    tail: Postings
    based: int
    counts: TermCounts
    n: int

    @classmethod
    def from_rows(cls, rows: Rows, previous: Lexical | None = None) -> Lexical:
        """Return the index of `rows`, on the previous base if that is still valid."""
        mean, end = _measure_mean(rows), len(rows.present)
        same_rows = previous is not None and previous.rows.epoch == rows.epoch
        if previous is not None and same_rows and _is_base_current(previous, mean, end):
            base, based = previous.base, previous.based
        elif rows.spool and end >= _SEGMENTED:
            holds = previous is not None and same_rows and previous.mean_length == mean
            base, based = _extend_base(rows, mean, previous if holds else None), end
        else:
            base, based = _build_postings(rows, 0, end, mean), end
        if previous is None or not same_rows or _are_few(rows.terms.values[0].array):
            counts = _count_records(rows)
        else:
            counts = TermCounts(_update_df(previous, rows))
        made = cls.build_on(rows, mean, base, based, counts)
        if rows.spool:
            rows.spool.release()  # read only to build postings; hardly any query needs it
        return made

    @classmethod
    def build_on(
        cls, rows: Rows, mean: float, base: Postings, based: int, counts: TermCounts
    ) -> Lexical:
        """Return the index of `rows` on a base of its first `based` records."""
        tail = _build_postings(rows, based, len(rows.present), mean)
        return cls(rows, mean, base, tail, based, counts, rows.n_records)

    @property
    def df(self) -> NDArray[np.int64]:
        """Return how many records hold each term, by id."""
        return self.counts.dense

    def join(self, rows: Rows, more: Lexical) -> Lexical:
        """Return the index of `rows`, which are this index' rows followed by another's.

        The two share a vocabulary; this index' mean length is used for both.
        """
        counts = JoinedTermCounts(self.counts.values, self.counts, more.counts)
        end, mean = len(self.rows.present), self.mean_length
        mine = make_postings(self.rows, self.based, end, mean)
        ids, records, values = make_postings(more.rows, 0, len(more.rows.present), mean)
        theirs = ids, records + np.int32(end), values
        tail = Postings.from_places(
            *(np.concatenate(pair) for pair in zip(mine, theirs, strict=True))
        )
        return Lexical(rows, mean, self.base, tail, self.based, counts, rows.n_records)

    def score_all(self, terms: Sequence[int], k1: float = K1, b: float = B) -> NDArray[np.float32]:
        """Score every record against the ids of a query's terms; unknown ids add nothing.

        A `k1` or `b` other than that of the postings costs several times as much: values have to be
        turned back into counts.
        """
        scores, segments = np.zeros(len(self.rows.present), np.float32), self.segments
        for term, weight in zip(terms, self.compute_idf(np.array(terms, np.int64)), strict=True):
            for postings in segments:
                records, values = postings.get_postings(term)
                if (k1, b) != (K1, B):
                    lengths = self.rows.lengths.array[records]
                    counts = _restore_counts(values, _make_norm(lengths, self.mean_length))
                    # A stored count may be zero; with a k1 of zero all values are.
                    norm = np.maximum(_make_norm(lengths, self.mean_length, k1, b), _LEAST_LEFT)
                    values = _saturate(counts, norm, k1)
                np.add.at(scores, records, weight * values)
        if self.n < len(scores):
            scores *= self.rows.present
        return scores

    def compute_idf(self, terms: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the idf of terms, by id; a term that no record holds has the highest."""
        df = self.counts.count(terms)
        idf: NDArray[np.float32] = np.log1p((self.n - df + 0.5) / (df + 0.5)).astype(np.float32)
        return idf

    def count_records(self, term: int) -> int:
        """Return how many records hold a term, by its id."""
        return self.counts.count_one(term)

    @property
    def segments(self) -> tuple[Postings, ...]:
        """Return the base, and the tail where there is one."""
        return (self.base, self.tail) if len(self.tail.records) else (self.base,)

    def find_holders(self, term: int) -> list[NDArray[np.int32]]:
        """Return the positions of the records that hold a term, by its id.

        First those of the base, then those of the tail, each ascending.
        """
        return [postings.get_postings(term)[0] for postings in self.segments]

    def holds(self, term: int) -> bool:
        """Return whether any record holds a term, by its id; -1 is no term."""
        return bool(self.counts.count_one(term))

    def split_score(self, position: int, terms: Sequence[int]) -> list[float]:
        """Return the contribution of each term to one record's score."""
        counts = self.rows.count_terms(position)
        length = float(self.rows.lengths.array[position])
        return [
            self.score({term: counts[term]}, length) if term in counts else 0.0 for term in terms
        ]

    def sum_idf(self, terms: Sequence[int], unknown: int = 0) -> float:
        """Return the sum of the idf of distinct terms by id, and of unknown ones."""
        ids = np.array([*terms, *[_LAST_TERM] * unknown], np.int64)
        return float(self.compute_idf(ids).sum())

    def score(self, counts: Mapping[int, float], length: float) -> float:
        """Return the BM25 score of a record of a length that holds `counts` of a query's terms."""
        idf = self.compute_idf(np.array(list(counts), np.int64))
        held = np.array(list(counts.values()), np.float32)
        return float((idf * _saturate(held, _make_norm(length, self.mean_length))).sum())


def _make_norm(
    length: float | NDArray[np.float64], mean: float, k1: float = K1, b: float = B
) -> Any:
    return k1 * (1 - b + b * length / mean)


def _saturate(counts: NDArray[np.float32], norm: Any, k1: float = K1) -> NDArray[np.float32]:
    saturated: NDArray[np.float32] = (counts * (k1 + 1) / (counts + norm)).astype(np.float32)
    return saturated


def _restore_counts(saturated: NDArray[np.float32], norm: Any) -> Any:
    """Return the counts that `_saturate` turned into these values."""
    return saturated * norm / np.maximum(K1 + 1 - saturated, _LEAST_LEFT)


def _measure_mean(rows: Rows) -> float:
    """Return the mean length of the records, to the nearest step."""
    mean = float(rows.lengths.array.sum(where=rows.present)) / max(rows.n_records, 1)
    return _MEAN_STEP ** round(math.log(max(mean, 1e-9), _MEAN_STEP))


def _is_base_current(previous: Lexical, mean: float, end: int) -> bool:
    tail = end - previous.based
    return previous.mean_length == mean and tail <= max(_TAIL, _TAIL_SHARE * end)


def make_postings(
    rows: Rows, start: int, end: int, mean: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return term, record and value of each posting of some neighbouring records."""
    place, of = rows.terms.number_rows(start, end)
    term_ids, counts = (values.array[place] for values in rows.terms.values)
    norm = _make_norm(rows.lengths.array[start:end], mean).astype(np.float32)
    return term_ids, of.astype(np.int32), _saturate(counts, norm[of - start])


def _extend_base(rows: Rows, mean: float, previous: Lexical | None) -> Segments:
    """Return a base of all records, extending that of an index of the same rows and mean length.

    Small parts at its end are rebuilt together with the new records.
    """
    assert rows.spool is not None
    parts, ends = list[Postings](), list[int]()
    if previous and isinstance(previous.base, Segments):
        parts, ends = list(previous.base.parts), list(previous.base.ends)
    elif previous:
        parts, ends = [previous.base], [previous.based]
    end = len(rows.present)
    most = end // _SEGMENTS
    while len(parts) > 1 and end - ends[-2] <= most:
        del parts[-1], ends[-1]
    start = ends[-1] if ends else 0
    for at in range(start, end, most):
        ends.append(min(at + most, end))
        made = _build_postings(rows, at, ends[-1], mean)
        arrays = {each.name: rows.spool.put(getattr(made, each.name)) for each in fields(made)}
        parts.append(replace(made, **arrays))
        rows.spool.release()
    return Segments.from_parts(parts, ends)


def _build_postings(rows: Rows, start: int, end: int, mean: float) -> Postings:
    step = max(_AT_ONCE, (end - start) // _PARTS)
    if end - start <= step:
        return Postings.from_places(*make_postings(rows, start, end, mean))
    ids = rows.terms.values[0].array[rows.terms.find_rows(start, end)]
    parts = (make_postings(rows, at, min(at + step, end), mean) for at in range(start, end, step))
    return Postings.in_parts(_count_all_terms(ids), parts)


def _count_records(rows: Rows) -> TermCounts:
    ids = rows.terms.values[0].array
    if rows.n_records < len(rows.present):
        if _are_few(ids):
            ids = ids[rows.terms.locate_rows(np.flatnonzero(rows.present))[0]]
        else:
            return TermCounts(_count_some_terms(rows, np.flatnonzero(rows.present), 0))
    return FewTermCounts.from_term_ids(ids) if _are_few(ids) else TermCounts(_count_all_terms(ids))


def _count_all_terms(ids: NDArray[np.int32]) -> NDArray[np.int64]:
    return count_terms(ids[at : at + _COUNTED] for at in range(0, len(ids), _COUNTED))


def _update_df(previous: Lexical, rows: Rows) -> NDArray[np.int64]:
    """Return the previous counts plus new records, minus deleted ones."""
    before = len(previous.rows.present)
    went = np.flatnonzero(previous.rows.present & ~rows.present[:before])
    came = np.flatnonzero(rows.present[before:]) + before
    df = _count_some_terms(rows, came, len(previous.df))
    df[: len(previous.df)] += previous.df
    lost = _count_some_terms(rows, went, len(df))
    return df - lost


def _count_some_terms(rows: Rows, records: NDArray[np.int64], n_terms: int) -> NDArray[np.int64]:
    """Count the terms of some records, part by part to save memory."""
    ids = rows.terms.values[0].array
    parts = (records[at : at + _AT_ONCE] for at in range(0, len(records), _AT_ONCE))
    return count_terms((ids[rows.terms.locate_rows(part)[0]] for part in parts), n_terms)
