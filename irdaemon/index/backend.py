"""The seam to another engine: where corpora are kept so that other processes can search them.

The ledger of the daemon that writes a corpus is the truth. A backend holds a function of it, which
can be dropped and built again: what the index needs of every record, and the text that is
disclosed. Deltas keep it up to date, each one transaction that makes one generation.

A backend narrows, the index scores: for a query it gives the records near the top of either leg by
the raw scores of all of them, with the filters applied before, and the statistics of the whole
corpus. On those the same code runs as on an index in memory (see `remote`), so that scores, order
and silence are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from irclient.errors import Conflict, Unavailable
from irdaemon.types import Floor


class OutOfStep(Conflict):
    """A delta does not follow the backend's generation; send the whole corpus."""


class LeaseLost(Unavailable):
    """Another process writes the corpus now, or has written it since; the message names it."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Facts about a whole corpus, as of one generation.

    `ledger` is the identity of the ledger whose row numbers and term ids are used, `holder` who
    writes it (user@host). `mean_length` is the one that BM25 is computed with. `fields` has up to a
    hundred values of every field that a filter may name. The rest is as on a
    CorpusIndex.
    """

    corpus: str
    kind: str
    ledger: str
    holder: str
    generation: int
    embedder: str
    dim: int
    recipe: str
    n_artifacts: int
    n_records: int
    n_embedded: int
    mean_length: float
    floors: Mapping[str, Floor] = field(default_factory=dict)
    last_reconcile: float | None = None
    degraded: tuple[str, ...] = ()
    by_hand: bool = False
    kinds: tuple[str, ...] = ()
    fields: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    asset_types: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of an artifact as it was stored, and of its records in plan order.

    `records` are as `ledger.artifacts.list_records` gives them.
    """

    artifact_id: str
    name: str
    pointer: str
    body: str
    digest: str
    fields: Mapping[str, Any]
    indexed_at: float
    records: Sequence[Mapping[str, Any]] = ()


class SentArtifact(NamedTuple):
    """An artifact on its way to a backend: `row` as `ledger.index_rows` gives it, and its text."""

    row: tuple[Any, ...]
    body: str
    digest: str
    indexed_at: float


class SentRecord(NamedTuple):
    """A record on its way to a backend: `row` as `ledger.index_rows` gives it.

    `vector` is float32 as bytes, None where it has none yet; `text` is the whole of it, `label` its
    id and granularity.
    """

    row: tuple[Any, ...]
    vector: bytes | None
    text: str
    label: tuple[str, str]


@dataclass(frozen=True, slots=True)
class IndexDelta:
    """The changes from one generation of a backend to the next, in one transaction.

    `totals` are those after it. `base` is the generation that it follows, 0 for a corpus sent
    whole, in place of the previous one. `gone` are row numbers of artifacts. `artifacts` and
    `records` are those that came, in the order of row numbers and surfaces: there may be more of
    them than memory holds, and they can be gone through again. `vectors` are those of earlier
    records that had none, by digest. `words` are terms that may be new with their ids, `df` how
    many records hold a term now, of those for which that changed. `fence` is the lease's.
    """

    totals: Totals
    base: int
    fence: int
    gone: Sequence[int] = ()
    artifacts: Iterable[SentArtifact] = ()
    records: Iterable[SentRecord] = ()
    vectors: Mapping[bytes, bytes] = field(default_factory=dict)
    words: Mapping[str, int] = field(default_factory=dict)
    df: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of a query to a corpus.

    `ranked` are the words that records are ranked by, `others` more that it asks about. `depth` is
    how many records each leg gives, and all that tie with the last. `where` is a valid filter,
    `surfaces` the kinds that count, none for all. `names` are keys of names (`rows.name_key`):
    artifacts that have one come with all of their records that the filter lets through, and so do
    those of the ids in `including`, even against the filter. `k1` and `b` are BM25's.
    """

    ranked: tuple[str, ...]
    others: tuple[str, ...]
    vector: NDArray[np.float32] | None
    depth: int
    k1: float
    b: float
    where: Mapping[str, Any] = field(default_factory=dict)
    surfaces: frozenset[str] = frozenset()
    names: tuple[int, ...] = ()
    including: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The part of a corpus that a query needs, all of one generation.

    `artifacts` and `records` are as `ledger.index_rows` gives them, in the order of row numbers and
    surfaces; `vectors` has one for each record, None where it has none yet. `words` are the term
    ids of the words wanted that the ledger knows, `df` says how many records hold each term of the
    ranked ones, of the artifacts' names and of `words`. `eligible` counts the records that the
    filters let through.
    """

    totals: Totals
    artifacts: Sequence[tuple[Any, ...]]
    records: Sequence[tuple[Any, ...]]
    vectors: Sequence[bytes | None]
    words: Mapping[str, int]
    df: Mapping[int, int]
    eligible: int


class CopyTarget(Protocol):
    """What corpora are copied into: see IndexBackend."""

    def read_totals(self) -> Mapping[str, Totals]:
        """Return the facts about every corpus, by name."""
        ...

    def count_frequencies(self, corpus: str, terms: Collection[int]) -> Mapping[int, int]:
        """Return how many records hold each of some terms, by id; 0 may be left out."""
        ...

    def list_row_numbers(self, corpus: str) -> Iterable[int]:
        """Yield the row numbers of the stored artifacts, ascending."""
        ...

    def list_unembedded(self, corpus: str) -> Iterable[bytes]:
        """Yield the digests of the records that have no vector."""
        ...

    def take_lease(self, corpus: str, holder: str) -> int:
        """Take or renew the lease to write a corpus, for 15 s; return its fence, which grows.

        Raises LeaseLost, naming the holder, where another has it.
        """
        ...

    def release(self, corpus: str, holder: str) -> None:
        """Give up the lease of a corpus."""
        ...

    def apply(self, delta: IndexDelta) -> int:
        """Apply a delta in one transaction; return the corpus' generation afterwards.

        One that is there already changes nothing. Raises OutOfStep where it does not follow what
        there is, LeaseLost where its fence is not the newest.
        """
        ...

    def drop(self, corpus: str, fence: int) -> None:
        """Remove a corpus. Raises LeaseLost."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class IndexBackend(CopyTarget, Protocol):
    """An engine that keeps corpora for any number of processes.

    Every method raises Unavailable, naming the server without its password, where that does not
    answer within the request's time (`runtime.deadline`), and NotFound for a corpus that it has
    not. Any thread may use it.
    """

    def find_candidates(self, corpus: str, wanted: Wanted) -> Found:
        """Return the records that a query needs from a corpus."""
        ...

    def find_term_ids(self, corpus: str, words: Collection[str]) -> Mapping[str, int]:
        """Return the term ids of the words that the corpus' ledger knows."""
        ...

    def list_words_like(
        self, corpus: str, initials: Collection[str], lengths: range
    ) -> Collection[str]:
        """Return the words of a corpus' ledger that begin with one of the letters, of a length.

        Forms, which begin with `=`, count by what follows it, and are returned with it.
        """
        ...

    def rank(self, corpus: str, wanted: Wanted, leg: str, score: float) -> int:
        """Count the records that a leg (dense or lexical) scores above `score`, unfiltered."""
        ...

    def read_texts(self, corpus: str, artifact_ids: Collection[str]) -> Mapping[str, StoredText]:
        """Return the texts of artifacts as they were stored, by id."""
        ...

    def wait(self, corpus: str, generation: int, timeout_s: float) -> int:
        """Wait until a generation of a corpus can be searched; return the one then served."""
        ...

    def read_newest_generation(self, corpus: str) -> int:
        """Return the generation written last, searchable or not."""
        ...
