"""Ordinary requests: prompts that people type to an agent and that no item is needed for.

`coding_requests.txt` has programming tasks that an agent does by itself, `other_requests.txt` small
talk, tiny edits, follow-ups, private questions; both in several languages, a request a line. The
similarity of a query to a programming task tells how ordinary it is; calibration uses all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder


@lru_cache(maxsize=1)
def read_requests() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ordinary requests: programming tasks, and others."""
    coding, other = (
        tuple(Path(__file__).with_name(name).read_text("utf-8").splitlines())
        for name in ("coding_requests.txt", "other_requests.txt")
    )
    return coding, other


def draw_requests() -> Iterator[str]:
    """Yield the ordinary requests of both kinds, ordered by their digests."""
    yield from sorted((request for kind in read_requests() for request in kind), key=_digest)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


# From this cosine on a query counts as one of the requests.
_SAME = 1 - 1e-4


@dataclass(frozen=True, slots=True)
class CodingRequests:
    """The vectors of the ordinary programming tasks in an embedder's space."""

    vectors: NDArray[np.float32]

    @classmethod
    def embed_once(cls, embedder: Embedder) -> CodingRequests:
        """Return the requests' vectors, embedded once per embedder: some 25 ms if it is static."""
        made = _MADE.get(embedder.id)
        if made is None:
            made = _MADE[embedder.id] = cls(embedder.embed(read_requests()[0]))
        return made

    def compare(self, vector: NDArray[np.float32]) -> float:
        """Return the cosine of a query's vector with the nearest request.

        A query that is itself one of the requests is compared with the others.
        """
        cosines = self.vectors @ vector
        cosines[cosines > _SAME] = 0
        return float(cosines.max())


_MADE: dict[str, CodingRequests] = {}
