"""A model-free embedder: hashed words and word pairs. For tests, and machines without a model."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder
from irdaemon.text import tokenize


class Hashing(Embedder):
    """Hash words and adjacent pairs into signed buckets, weighted 1 + ln(count)."""

    def __init__(self, dim: int = 512):
        self.dim = dim
        self.id = f"hashing-{dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for gram, count in Counter(_list_grams(text)).items():
                digest = zlib.crc32(gram.encode())
                row[digest % self.dim] += (1 + np.log(count)) * (1 if digest & 1 << 31 else -1)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors


def _list_grams(text: str) -> Iterator[str]:
    words = tokenize(text)
    yield from words
    yield from (f"{a} {b}" for a, b in pairwise(words))
