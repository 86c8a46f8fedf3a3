"""Embedders that a program hands over: objects, and plain functions from texts to vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError
from irdaemon.embed import Adapted, Embedder

# Texts in, one row of numbers for each out.
EmbedTexts = Callable[[Sequence[str]], Any]


class FromFunction(Embedder):
    """Embed with a function; its rows are brought to unit length."""

    def __init__(self, function: EmbedTexts, id: str, dim: int = 0):
        self._function = function
        self.id = id
        self.dim = dim or len(self.embed(["dimension"])[0])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; see Embedder. Raises QueryError for rows of another form."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        rows = np.asarray(self._function(list(texts)), np.float32)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise QueryError(
                f"embedder {self.id!r} gave {rows.shape} for {len(texts)} texts",
                "return one row of finite numbers for each text",
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        return unit


def given_embedder(given: object) -> Embedder:
    """Return an embedder made of an object with `embed`, or of a function, by its `id`.

    Raises QueryError for what has no id: vectors are kept by it and compared with no others.
    """
    id = getattr(given, "id", None)
    embed = getattr(given, "embed", given)
    if not callable(embed):
        raise QueryError(
            f"{given!r:.60} is no embedder", "give a name, an object with embed, or a function"
        )
    if not isinstance(id, str) or not id.strip():
        raise QueryError(
            f"embedder {given!r:.60} has no id, by which its vectors are kept",
            'give it one: embed.id = "my-model-1"',
        )
    if embed is given or not hasattr(given, "dim"):
        return FromFunction(embed, id, int(getattr(given, "dim", 0)))
    own: Any = given
    return own if hasattr(own, "read") else Adapted(own)
