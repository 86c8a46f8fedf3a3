"""A corpus in a backend: an index without rows, and the parts of it that queries need.

A part is an index of a few hundred records with the statistics of the whole. A query finds the same
in the part as in the whole, in the same order and with the same scores: the part holds the top of
both legs, and every artifact called by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.contrib.backends.state import split_batches
from irdaemon.index import CorpusIndex, Whole
from irdaemon.index.backend import (
    CopyTarget,
    Found,
    IndexBackend,
    IndexDelta,
    SentArtifact,
    SentRecord,
    Totals,
    Wanted,
)
from irdaemon.index.columns import Columns
from irdaemon.index.dense import Dense
from irdaemon.index.lexical import (
    Lexical,
    SomePostings,
    TermCounts,
    make_postings,
)
from irdaemon.index.names import Names
from irdaemon.index.rows import Rows, list_symbol_words
from irdaemon.ledger import Ledger

# Deltas: what a backend lacks of a corpus, computed from the index in memory.
#
# The ledger does not record what was sent. The backend itself reports which artifacts of which
# generation it has, so anything lost on the way, on either side, is sent again.


@dataclass(frozen=True, slots=True)
class CopyOrigin:
    """The origin of a corpus: its kind and recipe, its ledger's identity, and its writer."""

    kind: str
    recipe: str
    ledger: str
    holder: str


@dataclass(frozen=True, slots=True)
class CopyState:
    """The state of a backend's copy that the next delta depends on.

    `numbers` are the row numbers of its artifacts, ascending, `df` the record counts by term id,
    `waiting` has the digests of the records without a vector. `generation` is 0 if it has nothing
    that a delta could follow.
    """

    generation: int = 0
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    df: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    waiting: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Texts:
    """The source of the texts that a backend stores in addition to the index.

    `find_words` returns the words of term ids; `read` returns the text disclosed for an artifact
    id, its digest, and when it was indexed.
    """

    ledger: Ledger
    find_words: Callable[[Collection[int]], Mapping[str, int]]
    read: Callable[[str], tuple[str, str, float]]


def make_totals(index: CorpusIndex, origin: CopyOrigin, generation: int) -> Totals:
    """Return the facts about an index in memory."""
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
        fields={
            name: tuple(index.sample_values(name)) for name in sorted(index.list_field_names())
        },
        asset_types=index.columns.count_asset_types(),
    )


def ask_held(
    backend: CopyTarget, index: CorpusIndex, origin: CopyOrigin, n_terms: int
) -> CopyState:
    """Ask a backend for its state of a corpus; empty if that is of another ledger or space.

    `n_terms` is the number of term ids that the ledger has ever assigned, including those of
    deleted words.
    """
    there = backend.read_totals().get(index.corpus)
    wanted = (origin.ledger, index.embedder, index.rows.vectors.buffer.shape[1])
    if there is None or (there.ledger, there.embedder, there.dim) != wanted:
        return CopyState()
    size = max(n_terms, len(index.lexical.df))
    known = backend.count_frequencies(index.corpus, range(size))
    df = np.zeros(size, np.int64)
    df[list(known)] = list(known.values())
    numbers = np.fromiter(backend.list_row_numbers(index.corpus), np.int64)
    return CopyState(
        there.generation, numbers, df, frozenset(backend.list_unembedded(index.corpus))
    )


def make_copy_state(index: CorpusIndex, generation: int) -> CopyState:
    """Return the state of a backend's copy once it is level with an index."""
    rows = index.rows
    waiting = np.flatnonzero(rows.present & ~rows.embedded).tolist()
    digests = frozenset(rows.shown[position].digest for position in waiting)
    return CopyState(generation, _list_numbers(index), index.lexical.df, digests)


def make_delta(
    index: CorpusIndex, held: CopyState, totals: Totals, fence: int, texts: Texts
) -> IndexDelta:
    """Return the delta from a backend's state to an index in memory, with its texts.

    A corpus that the backend has nothing of is sent whole.
    """
    numbers = _list_numbers(index)
    came = np.setdiff1d(numbers, held.numbers, assume_unique=True)
    changed = _compare_counts(held.df, index.lexical.df)
    counted = {term for term, df in changed.items() if df}
    return IndexDelta(
        totals=totals,
        base=held.generation,
        fence=fence,
        gone=np.setdiff1d(held.numbers, numbers, assume_unique=True).tolist(),
        artifacts=_Artifacts(index.corpus, came, texts),
        records=_Records(index, came, texts.ledger),
        vectors=_list_late_vectors(index, held),
        words=texts.find_words(counted | _list_name_terms(index, came)),
        df=changed,
    )


def _list_numbers(index: CorpusIndex) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = index.rows.numbers.array[index.rows.alive]
    return numbers


def _compare_counts(before: NDArray[np.int64], now: NDArray[np.int64]) -> dict[int, int]:
    """Return the new count of each term whose count has changed."""
    size = max(len(before), len(now))
    one, other = (np.pad(each, (0, size - len(each))) for each in (before, now))
    changed = np.flatnonzero(one != other)
    return dict(zip(changed.tolist(), other[changed].tolist(), strict=True))


def _list_name_terms(index: CorpusIndex, numbers: NDArray[np.int64]) -> set[int]:
    """Return the term ids of artifacts' names, which may be in no record."""
    names = index.rows.names
    places, _ = names.locate_rows(np.searchsorted(index.rows.numbers.array, numbers))
    return set(names.values[0].array[places].tolist())


def _list_late_vectors(index: CorpusIndex, held: CopyState) -> dict[bytes, bytes]:
    """Return the vectors of records that the backend has without one, by digest."""
    if not held.waiting:
        return {}
    rows = index.rows
    there = np.isin(rows.numbers.array, held.numbers)[rows.artifact_of.array]
    return {
        digest: rows.vectors.array[position].tobytes()
        for position in np.flatnonzero(rows.embedded & there).tolist()
        if (digest := rows.shown[position].digest) in held.waiting
    }


def _split_ranges(numbers: NDArray[np.int64]) -> Iterator[tuple[set[int], int, int]]:
    """Yield row numbers in parts, each with the number before its first and with its last."""
    for part in split_batches(numbers.tolist()):
        yield set(part), part[0] - 1, part[-1]


@dataclass(frozen=True, slots=True)
class _Artifacts(Iterable[SentArtifact]):
    corpus: str
    numbers: NDArray[np.int64]
    texts: Texts

    def __iter__(self) -> Iterator[SentArtifact]:
        rows = self.texts.ledger.index_rows
        for wanted, after, last in _split_ranges(self.numbers):
            for row in rows.list_artifacts(self.corpus, after, last=last):
                if row[0] in wanted:
                    yield SentArtifact(row, *self.texts.read(row[1]))


@dataclass(frozen=True, slots=True)
class _Records(Iterable[SentRecord]):
    index: CorpusIndex
    numbers: NDArray[np.int64]
    ledger: Ledger

    def __iter__(self) -> Iterator[SentRecord]:
        corpus, rows = self.index.corpus, self.ledger.index_rows
        for wanted, after, last in _split_ranges(self.numbers):
            texts = {(t.artifact, t.surface): t for t in rows.list_texts(corpus, after, last)}
            for row in rows.list_records(corpus, after, last):
                if row[0] in wanted:
                    text = texts[row[0], row[2]]
                    vector = self._find_vector(row[0], row[2])
                    yield SentRecord(row, vector, text.text, (text.record_id, text.granularity))

    def _find_vector(self, number: int, surface: int) -> bytes | None:
        rows = self.index.rows
        owned = rows.find_records(int(np.searchsorted(rows.numbers.array, number)))
        surfaces = rows.surfaces.array[owned.start : owned.stop]
        at = owned.start + int(np.searchsorted(surfaces, surface))
        return rows.vectors.array[at].tobytes() if rows.embedded[at] else None


# The number of words cached per ledger: a dictionary of this size takes about 20 MB.
_MOST_WORDS = 200_000


@dataclass(slots=True)
class Vocabularies:
    """The words of ledgers used by queries and their parts, by the ledgers' identity.

    Indexes of one ledger share a dictionary, as term ids belong to the ledger.
    """

    _by_ledger: dict[str, dict[str, int]] = field(default_factory=dict)

    def get(self, ledger: str) -> dict[str, int]:
        """Return the dictionary of a ledger, which grows; a new one once it is too large."""
        known = self._by_ledger.setdefault(ledger, {})
        if len(known) > _MOST_WORDS:
            known = self._by_ledger[ledger] = {}
        return known


@dataclass(frozen=True, slots=True)
class RemoteCorpus:
    """The location of a corpus, for an index that has none of its rows.

    `including` are artifacts, by id, that every part includes for any query.
    """

    backend: IndexBackend
    totals: Totals
    vocabularies: Vocabularies
    including: tuple[str, ...] = ()

    def include_artifacts(self, artifact_ids: tuple[str, ...]) -> RemoteCorpus:
        """Return the same corpus with these artifacts in the part that any query gets."""
        return replace(self, including=artifact_ids)

    def fetch_part(self, wanted: Wanted) -> CorpusIndex:
        """Return the part of the corpus that a query needs. Raises Unavailable."""
        wanted = replace(wanted, including=(*wanted.including, *self.including))
        found = self.backend.find_candidates(self.totals.corpus, wanted)
        vocabulary = self.vocabularies.get(found.totals.ledger)
        vocabulary.update(found.words)
        if symbols := list_symbol_words(found.records) - vocabulary.keys():
            vocabulary.update(self.backend.find_term_ids(self.totals.corpus, symbols))
        rows = _build_rows(found, vocabulary)
        df = {**found.df, **self._count_missing(rows, found.df)}
        return replace(_build_part(found, rows, df, vocabulary), elsewhere=self)

    def _count_missing(self, rows: Rows, known: Mapping[int, int]) -> Mapping[int, int]:
        """Return the frequencies of the terms of names and symbols that are not known yet."""
        ids = {*rows.names.values[0].array.tolist(), *rows.symbols.values[0].array.tolist()}
        missing = ids - known.keys()
        return self.backend.count_frequencies(self.totals.corpus, missing) if missing else {}

    def count_records(self, word: str) -> int:
        """Return how many records hold a word."""
        corpus = self.totals.corpus
        term = self.backend.find_term_ids(corpus, [word]).get(word)
        return 0 if term is None else self.backend.count_frequencies(corpus, [term]).get(term, 0)

    def list_words_like(self, initials: Collection[str], lengths: range) -> Iterable[str]:
        """Return the words of a length that begin with one of the letters."""
        return self.backend.list_words_like(self.totals.corpus, initials, lengths)

    def rank(self, wanted: Wanted, leg: str, score: float) -> int:
        """Return the rank of a score among all records in a leg, from 1."""
        return self.backend.rank(self.totals.corpus, wanted, leg, score) + 1


def make_remote_index(
    backend: IndexBackend, totals: Totals, vocabularies: Vocabularies
) -> CorpusIndex:
    """Return the index of a corpus in a backend, as of one generation."""
    rows = Rows.make_empty(totals.dim)
    empty = _make_index(rows, Lexical.from_rows(rows), totals, totals.n_records)
    return replace(
        empty,
        elsewhere=RemoteCorpus(backend, totals, vocabularies),
        vocabulary=vocabularies.get(totals.ledger),
    )


def _build_rows(found: Found, vocabulary: Mapping[str, int]) -> Rows:
    dim = found.totals.dim
    rows = Rows.build(found.artifacts, found.records, dim, vocabulary)
    embedded = np.array([vector is not None for vector in found.vectors], np.bool_)
    packed = b"".join(vector for vector in found.vectors if vector is not None)
    vectors = np.frombuffer(packed, np.float32).reshape(-1, max(dim, 1))
    rows.vectors.array[embedded] = vectors[:, :dim]
    return replace(rows, embedded=embedded)


def _build_part(
    found: Found, rows: Rows, df: Mapping[int, int], vocabulary: Mapping[str, int]
) -> CorpusIndex:
    totals, length = found.totals, len(rows.present)
    counts = np.zeros(max(df, default=-1) + 1, np.int64)
    counts[list(df)] = list(df.values())
    # The postings of the requested terms, by ascending id.
    wanted = np.array(sorted(found.words.values()), np.int32)
    ids, records, values = make_postings(rows, 0, length, totals.mean_length)
    kept = np.isin(ids, wanted)
    lexical = Lexical(
        rows,
        totals.mean_length,
        SomePostings.build_for(wanted, ids[kept], records[kept], values[kept]),
        SomePostings.none(),
        length,
        TermCounts(counts),
        totals.n_records,
    )
    return replace(_make_index(rows, lexical, totals, found.eligible), vocabulary=vocabulary)


def _make_index(rows: Rows, lexical: Lexical, totals: Totals, eligible: int) -> CorpusIndex:
    return CorpusIndex(
        corpus=totals.corpus,
        embedder=totals.embedder,
        rows=rows,
        lexical=lexical,
        dense=Dense(rows),
        columns=Columns(rows),
        names=Names.build(rows, lexical),
        floors=totals.floors,
        last_reconcile=totals.last_reconcile,
        degraded=totals.degraded,
        by_hand=totals.by_hand,
        whole=Whole(totals, eligible),
    )
