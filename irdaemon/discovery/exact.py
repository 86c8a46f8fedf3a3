"""Exact search: the records whose stored text contains a literal, as a filter before any top-k.

The texts are those of the ledger, so all of a record is searched, character by character. If that
takes too long the answer covers the records searched until then, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.discovery.query import ParsedQuery, restrict_snapshot
from irdaemon.discovery.where import Filter
from irdaemon.index import Columns, Snapshot
from irdaemon.runtime.deadline import check_clock, time_left
from irdaemon.types import Selection

# The longest a search takes before it answers with its results so far.
_WITHIN_S = 2.0
_ARTIFACTS_AT_ONCE = 256
# A record is named by the row of its artifact and its surface index, in one number.
_SURFACES = 1 << 20

# Yield (artifact row, surface index) of the records of artifacts whose text contains a literal.
FindRecords = Callable[[Sequence[int], str, bool], Iterator[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class ExactMatches:
    """The records that contain the literal, the number of searched artifacts, and the duration."""

    records: NDArray[np.int64]
    searched: int
    artifacts: int
    took_ms: float

    def make_mask(self, columns: Columns) -> NDArray[np.bool_]:
        """Return which records of a corpus contain the literal."""
        rows = columns.rows
        owners = rows.numbers.array[rows.artifact_of.array]
        return np.isin(owners * _SURFACES + rows.surfaces.array, self.records) & rows.present

    def add_to(self, answer: Selection) -> Selection:
        """Return an answer with the number of searched artifacts and the search time added."""
        counts = {"searched": self.searched, "artifacts": self.artifacts}
        signals = {**answer.signals, "exact": {"records": len(self.records), **counts}}
        return replace(answer, signals=signals, took_ms=round(answer.took_ms + self.took_ms, 3))


def find_exact(snapshot: Snapshot, query: ParsedQuery, find_records: FindRecords) -> ExactMatches:
    """Search the texts of the artifacts that the query's other filters let through.

    Raises NotFound and QueryError as a search does.
    """
    wanted = [int(row) for row in _list_artifacts(restrict_snapshot(snapshot, query), query)]
    started = time.monotonic()
    ends = started + min(_WITHIN_S, 0.8 * time_left())
    found, searched = list[int](), 0
    while searched < len(wanted) and time.monotonic() < ends:
        check_clock()
        part = wanted[searched : searched + _ARTIFACTS_AT_ONCE]
        found += [
            row * _SURFACES + surface
            for row, surface in find_records(part, query.text, query.ignore_case)
        ]
        searched += len(part)
    took_ms = 1e3 * (time.monotonic() - started)
    return ExactMatches(np.array(sorted(found), np.int64), searched, len(wanted), took_ms)


def _list_artifacts(snapshot: Snapshot, query: ParsedQuery) -> Iterator[np.int64]:
    """Yield the ledger's rows of the artifacts that the other filters of a query let through."""
    for index in snapshot.corpora.values():
        rows = index.rows
        mask = query.filter.make_mask(index.columns) & rows.present
        if query.surfaces:
            mask &= index.columns.match_kinds(frozenset(query.surfaces))
        yield from rows.numbers.array[np.unique(rows.artifact_of.array[mask])]


def keep_matches(query: ParsedQuery, matches: ExactMatches) -> ParsedQuery:
    """Return a query limited to the matching records."""
    own = query.filter
    where = {**own.where, "$exact": query.text}
    return replace(query, filter=Filter(where, own.conditions, (*own.masks, matches.make_mask)))
