"""Embedders: text to unit vectors.

`EMBEDDERS` names those of this package, `FAMILIES` those of an optional package or an endpoint, as
"family:model"; "module:attr" names a custom one: a callable without arguments that returns an
object with `id`, `dim` and `embed`, and optionally `read` and `embed_query`. Its `id` names the
vector space: two embedders with the same id must give the same vectors, and vectors of different
ids are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from irdaemon.runtime.plugins import load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turn texts into vectors whose dot product is their cosine.

    The `read` that a subclass inherits trusts every query.
    """

    id: str
    dim: int
    # Whether a thousand texts are embedded in a tenth of a second, without a remote service.
    instant: bool = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length; a text without known words gives zeros."""
        ...

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a query's vector, and the share of the query, 0 to 1, in words the model knows."""
        return self.embed([text])[0], 1.0


class Adapted(Embedder):
    """A user's embedder without `read`, by its `embed_query` if it has one.

    `embed_query(text)` is for models that embed queries differently from documents.
    """

    def __init__(self, own: Embedder):
        self._own = own
        self.id, self.dim = own.id, own.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; see Embedder."""
        return self._own.embed(texts)

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a query's vector, which is trusted; see Embedder."""
        embed_query = getattr(self._own, "embed_query", None)
        return (embed_query(text) if embed_query else self._own.embed([text])[0]), 1.0


class QueryVector(NamedTuple):
    """A query's vector, and how far to trust it: 1 if the model knows its words.

    `coding` is its cosine with the nearest ordinary programming task, 0 if unknown.
    """

    vector: NDArray[np.float32]
    trust: float = 1.0
    coding: float = 0.0


EMBEDDERS: dict[str, str] = {
    "hashing": "irdaemon.embed.hashing:Hashing",
    "light": "irdaemon.embed.hashing:Hashing",
    "hash": "irdaemon.embed.hashing:Hashing",
    "wordllama": "irdaemon.embed.wordllama:WordLlama",
}

# The part after the colon is the model, "" for the family's default.
FAMILIES: dict[str, str] = {
    "fastembed": "irdaemon.embed.models:FastEmbed",
    "model2vec": "irdaemon.embed.models:Model2Vec",
    "openai": "irdaemon.embed.models:OpenAICompatible",
    "sentence-transformers": "irdaemon.embed.models:SentenceTransformers",
}

# Shares of known words: from the first on a query is fully trusted, below the second not at all.
_KNOWN_WELL, _KNOWN_BADLY = 0.7, 0.3


def embed_query(embedder: Embedder, text: str) -> QueryVector:
    """Embed a query, trusted by the share of its words that the embedder knows."""
    vector, known = embedder.read(text)
    trust = (known - _KNOWN_BADLY) / (_KNOWN_WELL - _KNOWN_BADLY)
    return QueryVector(vector, min(1.0, max(0.0, trust)))


def check_embedder(name: str) -> None:
    """Raise QueryError for an unknown name; loads no model."""
    family = name.partition(":")[0]
    if family not in FAMILIES:
        load("embedder", name, {**EMBEDDERS, **FAMILIES})


def make_embedder(name: str, *, download: bool = False) -> Embedder:
    """Build the embedder called `name`; models are downloaded only on request.

    Raises QueryError for an unknown name, Unavailable if its package, model or endpoint is missing:
    it is never replaced by another.
    """
    family, _, model = name.partition(":")
    if family in FAMILIES:
        made: Embedder = load("embedder", family, FAMILIES)(model, download=download)
        return made
    own: Embedder = load("embedder", name, EMBEDDERS)()
    return own if hasattr(own, "read") else Adapted(own)
