"""Deltas: what a backend lacks of a corpus, told from the index in memory that is to be copied.

Nothing is noted in the ledger of what was sent. A backend says itself which artifacts it has and
of which generation, so that whatever was lost on the way, on either side, is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irdaemon.index import CorpusIndex
from irdaemon.index.backend import IndexBackend, IndexDelta, SentArtifact, SentRecord, Totals
from irdaemon.ledger import Ledger
from irdaemon.ledger.index_rows import RecordText

# Give the words of term ids.
WordsOf = Callable[[Collection[int]], Mapping[str, int]]
# Give the text that is disclosed of an artifact by its id, its digest, and when it was indexed.
TextOf = Callable[[str], tuple[str, str, float]]

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class CopyOrigin:
    """Where a corpus comes from: its kind and recipe, its ledger's identity, and who writes it."""

    kind: str
    recipe: str
    ledger: str
    holder: str


@dataclass(frozen=True, slots=True)
class CopyState:
    """What a backend has of a corpus, as far as the next delta depends on it.

    `numbers` are the row numbers of its artifacts, ascending, `df` counts by term id, `waiting` has
    the digests of the records without a vector. `generation` is 0 where it has nothing that a delta
    could follow.
    """

    generation: int = 0
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    df: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    waiting: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Texts:
    """Where what a backend stores beside the index comes from."""

    ledger: Ledger
    words_of: WordsOf
    text_of: TextOf


def totals_of(index: CorpusIndex, origin: CopyOrigin, generation: int) -> Totals:
    """Return what is to be known of an index that lies in memory."""
    return Totals(
        corpus=index.corpus,
        kind=origin.kind,
        ledger=origin.ledger,
        holder=origin.holder,
        generation=generation,
        embedder=index.embedder,
        dim=index.rows.vectors.buffer.shape[1],
        recipe=origin.recipe,
        n_artifacts=index.n_artifacts,
        n_records=index.n_records,
        n_embedded=index.n_embedded,
        mean_length=index.lexical.mean_length,
        floors=index.floors,
        last_reconcile=index.last_reconcile,
        degraded=index.degraded,
        by_hand=index.by_hand,
        kinds=tuple(index.kinds),
        fields={name: tuple(index.samples(name)) for name in sorted(index.field_names())},
        asset_types=index.columns.asset_types(),
    )


def held_by(
    backend: IndexBackend, index: CorpusIndex, origin: CopyOrigin, n_terms: int
) -> CopyState:
    """Ask a backend what it has of a corpus; nothing, where that is of another ledger or space.

    `n_terms` is how many term ids the ledger has given out, those of words that went among them.
    """
    there = backend.totals().get(index.corpus)
    wanted = (origin.ledger, index.embedder, index.rows.vectors.buffer.shape[1])
    if there is None or (there.ledger, there.embedder, there.dim) != wanted:
        return CopyState()
    size = max(n_terms, len(index.lexical.df))
    known = backend.frequencies(index.corpus, range(size))
    df = np.zeros(size, np.int64)
    df[list(known)] = list(known.values())
    numbers = np.fromiter(backend.numbers(index.corpus), np.int64)
    return CopyState(there.generation, numbers, df, frozenset(backend.without_vector(index.corpus)))


def copy_after(index: CorpusIndex, generation: int) -> CopyState:
    """Return what a backend has once it is level with an index."""
    return CopyState(generation, _numbers(index), index.lexical.df, frozenset(_waiting(index)))


def delta(
    index: CorpusIndex, held: CopyState, totals: Totals, fence: int, texts: Texts
) -> IndexDelta:
    """Return what takes a backend from what it has to an index in memory, with its texts.

    A corpus of which it has nothing is sent whole.
    """
    numbers = _numbers(index)
    came = np.setdiff1d(numbers, held.numbers, assume_unique=True)
    changed = _changed(held.df, index.lexical.df)
    counted = {term for term, df in changed.items() if df}
    return IndexDelta(
        totals=totals,
        base=held.generation,
        fence=fence,
        gone=np.setdiff1d(held.numbers, numbers, assume_unique=True).tolist(),
        artifacts=_Artifacts(index.corpus, came, texts),
        records=_Records(index, came, texts.ledger),
        vectors=_late_vectors(index, held),
        words=texts.words_of(counted | _named(index, came)),
        df=changed,
    )


def _numbers(index: CorpusIndex) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = index.rows.numbers.array[index.rows.alive]
    return numbers


def _changed(before: NDArray[np.int64], now: NDArray[np.int64]) -> dict[int, int]:
    """Return the new count of each term whose count is another."""
    size = max(len(before), len(now))
    one, other = (np.pad(each, (0, size - len(each))) for each in (before, now))
    changed = np.flatnonzero(one != other)
    return dict(zip(changed.tolist(), other[changed].tolist(), strict=True))


def _named(index: CorpusIndex, numbers: NDArray[np.int64]) -> set[int]:
    """Return the term ids of artifacts' names, which no record may hold."""
    names = index.rows.names
    places, _ = names.of_rows(np.searchsorted(index.rows.numbers.array, numbers))
    return set(names.values[0].array[places].tolist())


def _waiting(index: CorpusIndex) -> Iterator[bytes]:
    rows = index.rows
    for position in np.flatnonzero(rows.present & ~rows.embedded).tolist():
        yield rows.shown[position].digest


def _late_vectors(index: CorpusIndex, held: CopyState) -> dict[bytes, bytes]:
    """Return the vectors of records that a backend has without one, by digest."""
    if not held.waiting:
        return {}
    rows = index.rows
    there = np.isin(rows.numbers.array, held.numbers)[rows.artifact_of.array]
    return {
        digest: rows.vectors.array[position].tobytes()
        for position in np.flatnonzero(rows.embedded & there).tolist()
        if (digest := rows.shown[position].digest) in held.waiting
    }


def _ranges(numbers: NDArray[np.int64]) -> Iterator[tuple[set[int], int, int]]:
    """Yield row numbers in parts, each with the number before its first and with its last."""
    for start in range(0, len(numbers), _AT_ONCE):
        part = numbers[start : start + _AT_ONCE]
        yield set(part.tolist()), int(part[0]) - 1, int(part[-1])


@dataclass(frozen=True, slots=True)
class _Artifacts(Iterable[SentArtifact]):
    corpus: str
    numbers: NDArray[np.int64]
    texts: Texts

    def __iter__(self) -> Iterator[SentArtifact]:
        rows = self.texts.ledger.index_rows
        for wanted, after, last in _ranges(self.numbers):
            for row in rows.artifacts_until(self.corpus, after, last):
                if row[0] in wanted:
                    yield SentArtifact(row, *self.texts.text_of(row[1]))


@dataclass(frozen=True, slots=True)
class _Records(Iterable[SentRecord]):
    index: CorpusIndex
    numbers: NDArray[np.int64]
    ledger: Ledger

    def __iter__(self) -> Iterator[SentRecord]:
        rows = self.ledger.index_rows
        for wanted, after, last in _ranges(self.numbers):
            sent = {
                (each.artifact, each.surface): each
                for each in rows.texts(self.index.corpus, after, last)
            }
            for row in rows.records(self.index.corpus, after, last):
                if row[0] in wanted:
                    yield self._sent(row, sent[row[0], row[2]])

    def _sent(self, row: tuple[object, ...], text: RecordText) -> SentRecord:
        vector = self._vector(text.artifact, text.surface)
        return SentRecord(row, vector, text.text, (text.record_id, text.granularity))

    def _vector(self, number: int, surface: int) -> bytes | None:
        rows = self.index.rows
        owner = int(np.searchsorted(rows.numbers.array, number))
        of = rows.records_of(owner)
        at = of.start + int(np.searchsorted(rows.surfaces.array[of.start : of.stop], surface))
        return rows.vectors.array[at].tobytes() if rows.embedded[at] else None
