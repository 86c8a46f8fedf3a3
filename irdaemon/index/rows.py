"""A corpus in columns: what the ledger holds of it, laid out for scoring.

Rows are immutable. `synced` gives the next ones by dropping what the ledger no longer has and
appending what is new, so a change costs what it changes; ledger row numbers only grow and are
never reused, which makes both parts a comparison of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgpack
import numpy as np
from numpy.typing import NDArray

from irclient.errors import Unavailable
from irdaemon.ledger import Ledger


class Card(NamedTuple):
    """What an answer shows of an artifact. `packed` holds its fields, `content` its hash."""

    artifact_id: str
    name: str
    pointer: str
    packed: bytes
    content: str

    @property
    def fields(self) -> dict[str, Any]:
        """Unpack the artifact's filter fields."""
        fields: dict[str, Any] = msgpack.unpackb(self.packed)
        return fields


class Shown(NamedTuple):
    """What an answer shows of a record. `packed` holds the surface's own metadata."""

    kind: str
    surface_index: int
    summary: str
    packed: bytes
    digest: bytes


@dataclass(frozen=True, slots=True)
class Rows:
    """Artifacts and records of one corpus, position by position.

    `numbers` are the ledger's row numbers of the artifacts, ascending; `artifact_of` gives each
    record's artifact position. The terms of record i lie in `term_ids` and `term_counts` from
    `term_ends[i - 1]` (0 for the first) to `term_ends[i]`; those of artifact j's name likewise in
    `name_ids`. `vectors` has a row per record, zeros
    where `embedded` is false.
    """

    numbers: NDArray[np.int64]
    cards: tuple[Card, ...]
    artifact_of: NDArray[np.int32]
    shown: tuple[Shown, ...]
    term_ends: NDArray[np.int64]
    term_ids: NDArray[np.int32]
    term_counts: NDArray[np.float32]
    name_ends: NDArray[np.int64]
    name_ids: NDArray[np.int32]
    vectors: NDArray[np.float32]
    embedded: NDArray[np.bool_]
    last: int = 0

    @classmethod
    def empty(cls, dim: int) -> Rows:
        """Return the rows of a corpus without artifacts."""
        return cls._build([], [], dim, 0)

    @classmethod
    def _build(
        cls,
        artifacts: Sequence[tuple[Any, ...]],
        records: Sequence[tuple[Any, ...]],
        dim: int,
        last: int,
    ) -> Rows:
        numbers = np.array([row[0] for row in artifacts], np.int64)
        owners = np.array([row[0] for row in records], np.int64)
        sizes = [len(row[6]) // 4 for row in records]
        return cls(
            numbers=numbers,
            cards=tuple(Card(*row[1:6]) for row in artifacts),
            artifact_of=np.searchsorted(numbers, owners).astype(np.int32),
            shown=tuple(Shown(*row[1:6]) for row in records),
            term_ends=np.cumsum(sizes, dtype=np.int64),
            term_ids=np.frombuffer(b"".join(row[6] for row in records), np.int32),
            term_counts=np.frombuffer(b"".join(row[7] for row in records), np.float32),
            name_ends=np.cumsum([len(row[6]) // 4 for row in artifacts], dtype=np.int64),
            name_ids=np.frombuffer(b"".join(row[6] for row in artifacts), np.int32),
            vectors=np.zeros((len(records), dim), np.float32),
            embedded=np.zeros(len(records), np.bool_),
            last=max([last, *(row[0] for row in artifacts)]),
        )

    def synced(self, ledger: Ledger, corpus: str, embedder: str) -> Rows:
        """Return these rows brought level with the ledger, vectors included."""
        alive = np.isin(self.numbers, ledger.artifact_numbers(corpus), assume_unique=True)
        rows = self if alive.all() else self._keep(alive)
        artifacts = ledger.artifact_rows(corpus, self.last)
        if artifacts:
            records = ledger.record_rows(corpus, self.last)
            added = Rows._build(artifacts, records, self.vectors.shape[1], self.last)
            rows = rows._append(added)
        return rows._with_vectors(ledger, embedder)

    def counts_of(self, position: int) -> dict[int, float]:
        """Return the term counts of one record, by term id."""
        end = int(self.term_ends[position])
        start = int(self.term_ends[position - 1]) if position else 0
        return dict(
            zip(
                self.term_ids[start:end].tolist(), self.term_counts[start:end].tolist(), strict=True
            )
        )

    def lengths(self) -> NDArray[np.int64]:
        """Return how many distinct terms each record has."""
        return np.diff(self.term_ends, prepend=0)

    def _keep(self, alive: NDArray[np.bool_]) -> Rows:
        kept = alive[self.artifact_of]
        position = np.cumsum(alive, dtype=np.int32) - 1
        lengths = self.lengths()
        terms = np.repeat(kept, lengths)
        name_lengths = np.diff(self.name_ends, prepend=0)
        return replace(
            self,
            numbers=self.numbers[alive],
            cards=tuple(card for card, keep in zip(self.cards, alive, strict=True) if keep),
            artifact_of=position[self.artifact_of[kept]],
            shown=tuple(shown for shown, keep in zip(self.shown, kept, strict=True) if keep),
            term_ends=np.cumsum(lengths[kept], dtype=np.int64),
            term_ids=self.term_ids[terms],
            term_counts=self.term_counts[terms],
            name_ends=np.cumsum(name_lengths[alive], dtype=np.int64),
            name_ids=self.name_ids[np.repeat(alive, name_lengths)],
            vectors=self.vectors[kept],
            embedded=self.embedded[kept],
        )

    def _append(self, more: Rows) -> Rows:
        offset = np.int64(len(self.term_ids))
        name_offset = np.int64(len(self.name_ids))
        return Rows(
            numbers=np.concatenate([self.numbers, more.numbers]),
            cards=self.cards + more.cards,
            artifact_of=np.concatenate(
                [self.artifact_of, more.artifact_of + np.int32(len(self.cards))]
            ),
            shown=self.shown + more.shown,
            term_ends=np.concatenate([self.term_ends, more.term_ends + offset]),
            term_ids=np.concatenate([self.term_ids, more.term_ids]),
            term_counts=np.concatenate([self.term_counts, more.term_counts]),
            name_ends=np.concatenate([self.name_ends, more.name_ends + name_offset]),
            name_ids=np.concatenate([self.name_ids, more.name_ids]),
            vectors=np.concatenate([self.vectors, more.vectors]),
            embedded=np.concatenate([self.embedded, more.embedded]),
            last=more.last,
        )

    def _with_vectors(self, ledger: Ledger, embedder: str) -> Rows:
        if not self.vectors.shape[1]:  # nobody can embed a query for them
            return self
        waiting = np.flatnonzero(~self.embedded)
        digests = list({self.shown[i].digest for i in waiting})
        if not (stored := ledger.vectors.get(embedder, digests)):
            return self
        if any(len(vector) != 4 * self.vectors.shape[1] for vector in stored.values()):
            raise Unavailable(
                f"the vectors kept for embedder {embedder!r} have another dimension than its own,"
                f" {self.vectors.shape[1]}",
                "an embedder that changes needs another id",
            )
        found = np.array([i for i in waiting if self.shown[i].digest in stored], np.int64)
        packed = b"".join(stored[self.shown[i].digest] for i in found)
        vectors, embedded = self.vectors.copy(), self.embedded.copy()
        vectors[found] = np.frombuffer(packed, np.float32).reshape(len(found), -1)
        embedded[found] = True
        return replace(self, vectors=vectors, embedded=embedded)
