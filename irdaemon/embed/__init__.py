"""Embedders: text to unit vectors.

`EMBEDDERS` names the ones that come along; "module:attr" names one of your own: a callable without
arguments that returns an object with `id`, `dim` and `embed`. Its `id` names the vector space: two
embedders with one id must give the same vectors, and vectors of two ids are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from irdaemon.load import load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turn texts into vectors whose dot product is their cosine."""

    id: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length; a text without known words gives zeros."""
        ...


EMBEDDERS: dict[str, str] = {
    "hashing": "irdaemon.embed.hashing:Hashing",
    "wordllama": "irdaemon.embed.wordllama:WordLlama",
}


def make_embedder(name: str) -> Embedder:
    """Build the embedder called `name`.

    Raises QueryError for an unknown name or one whose package is missing: never a quiet
    replacement by another.
    """
    made: Embedder = load("embedder", name, EMBEDDERS)()
    return made
