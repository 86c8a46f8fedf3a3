"""Generated corpora of any size: Zipf words, unit vectors in clusters, without keeping them.

Records come in parts that are made again whenever they are gone through, so that a million of them
takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgpack
import numpy as np
from common import vocabulary
from numpy.typing import NDArray

from irdaemon.index.backend import SentArtifact, SentRecord
from irdaemon.text import tokenize

WORDS = 40
DIM = 256
# A filter on one of so many values lets one record in as many through.
PARTS = 100
_AT_ONCE = 10_000


def zipf(chance: np.random.Generator, count: int, n_terms: int) -> NDArray[np.int64]:
    """Return so many term numbers, as unevenly common as words of people are."""
    weights = 1 / (np.arange(n_terms) + 10)
    edges = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(edges, chance.random(count)), n_terms - 1)


def clustered(chance: np.random.Generator, size: int, n_centres: int) -> NDArray[np.float32]:
    """Return unit vectors in clusters, as those of texts are."""
    centres = np.random.default_rng(n_centres).standard_normal((n_centres, DIM))
    made = centres.astype(np.float32)[chance.integers(0, n_centres, size)]
    made += 0.7 * chance.standard_normal((size, DIM), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def noise(chance: np.random.Generator, like: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return small deviations from vectors."""
    return (0.02 * chance.standard_normal(like.shape)).astype(np.float32)


@dataclass(frozen=True)
class Part:
    """Some neighbouring artifacts with a record each, as the ledger gives them, and vectors."""

    artifacts: list[tuple[Any, ...]]
    records: list[tuple[Any, ...]]
    vectors: NDArray[np.float32]
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Synthetic:
    """A corpus of `size` artifacts, one record each, numbered from 1."""

    size: int

    @cached_property
    def words(self) -> list[str]:
        """Return its words, each of which the analyzer leaves as it is."""
        return [word for word in vocabulary() if tokenize(word) == [word]]

    @cached_property
    def known(self) -> dict[str, int]:
        """Return its words with their ids."""
        return {word: number for number, word in enumerate(self.words)}

    def parts(self) -> Iterator[Part]:
        """Yield the corpus in parts."""
        for first in range(1, self.size + 1, _AT_ONCE):
            yield self.part(first, min(_AT_ONCE, self.size + 1 - first))

    def part(self, first: int, count: int, more: tuple[int, ...] = ()) -> Part:
        """Return the artifacts from one number on; `more` are terms that all of them hold."""
        chance = np.random.default_rng((self.size, first))
        ids = zipf(chance, count * WORDS, len(self.words)).astype(np.int32).reshape(count, WORDS)
        vectors = clustered(chance, count, max(8, self.size // 200))
        made = Part([], [], vectors)
        for at, number in enumerate(range(first, first + count)):
            self._add(made, number, np.concatenate([ids[at], np.array(more, np.int32)]))
        return made

    def _add(self, made: Part, number: int, ids: NDArray[np.int32]) -> None:
        terms, counts = np.unique(ids, return_counts=True)
        words = [self.words[i] if i < len(self.words) else added_word(i) for i in ids.tolist()]
        text, name = " ".join(words), " ".join(words[:2])
        fields = msgpack.packb({"part": number % PARTS})
        digest = blake2b(str(number).encode(), digest_size=32).digest()
        row = (number, f"id-{number}", name, f"/notes/{number}", fields, digest.hex())
        made.artifacts.append((*row, np.unique(ids[:2]).astype(np.int32).tobytes()))
        counted = (terms.astype(np.int32).tobytes(), counts.astype(np.float32).tobytes())
        made.records.append((number, "document", 0, text, b"\x80", digest, *counted))
        made.texts.append(text)


def added_word(term: int) -> str:
    """Return the word of a term that only an edit brings."""
    return "xq" + "".join(chr(ord("a") + int(digit)) for digit in str(term)) + "x"


@dataclass(frozen=True)
class SentArtifacts:
    """The artifacts of parts, on their way to a backend."""

    parts: Any

    def __iter__(self) -> Iterator[SentArtifact]:
        """Make them anew."""
        for part in self.parts():
            for row, text in zip(part.artifacts, part.texts, strict=True):
                yield SentArtifact(row, text, row[5], 1.0)


@dataclass(frozen=True)
class SentRecords:
    """The records of parts, on their way to a backend."""

    parts: Any

    def __iter__(self) -> Iterator[SentRecord]:
        """Make them anew."""
        for part in self.parts():
            for row, vector, text in zip(part.records, part.vectors, part.texts, strict=True):
                yield SentRecord(row, vector.tobytes(), text, (f"r-{row[0]}", "artifact"))
