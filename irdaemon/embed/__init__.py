"""Embedders: text to unit vectors.

`EMBEDDERS` names the ones that come along, `FAMILIES` those that an optional package or an endpoint
brings, as "family:model"; "module:attr" names one of your own: a callable without arguments that
returns an object with `id`, `dim` and `embed`. Its `id` names the vector space: two embedders with
one id must give the same vectors, and vectors of two ids are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from irdaemon.runtime.plugins import load

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


class QueryVector(NamedTuple):
    """A query's vector, and how far it is to be trusted: 1 where the model knows its words."""

    vector: NDArray[np.float32]
    trust: float = 1.0


EMBEDDERS: dict[str, str] = {
    "hashing": "irdaemon.embed.hashing:Hashing",
    "wordllama": "irdaemon.embed.wordllama:WordLlama",
}

# What comes after the colon is the model; the family's own default where there is nothing.
FAMILIES: dict[str, str] = {
    "fastembed": "irdaemon.embed.fastembed:FastEmbed",
    "model2vec": "irdaemon.embed.model2vec:Model2Vec",
    "openai": "irdaemon.embed.openai:OpenAICompatible",
    "sentence-transformers": "irdaemon.embed.sentence_transformers:SentenceTransformers",
}

# From this share of known words on a query is trusted fully; below the other not at all.
_KNOWN_WELL, _KNOWN_BADLY = 0.7, 0.3


def query_vector(embedder: Embedder, text: str) -> QueryVector:
    """Embed a query, trusting it as far as the embedder says that it knows the words.

    An embedder may have a method `read(text)`: a text's vector, and the share, 0 to 1, of it in
    words of its own; and `embed_query(text)`, where its model wants queries embedded otherwise than
    documents.
    """
    if read := getattr(embedder, "read", None):
        vector, known = read(text)
    else:
        embed_query = getattr(embedder, "embed_query", None)
        vector, known = embed_query(text) if embed_query else embedder.embed([text])[0], 1.0
    trust = (known - _KNOWN_BADLY) / (_KNOWN_WELL - _KNOWN_BADLY)
    return QueryVector(vector, min(1.0, max(0.0, trust)))


def check_embedder(name: str) -> None:
    """Raise QueryError for a name that means no embedder; loads no model."""
    family = name.partition(":")[0]
    if family not in FAMILIES:
        load("embedder", name, {**EMBEDDERS, **FAMILIES})


def make_embedder(name: str, *, download: bool = False) -> Embedder:
    """Build the embedder called `name`; models are downloaded only if asked for.

    Raises QueryError for an unknown name, Unavailable where its package, model or endpoint is
    missing: never a quiet replacement by another.
    """
    family, _, model = name.partition(":")
    if family in FAMILIES:
        made: Embedder = load("embedder", family, FAMILIES)(model, download=download)
        return made
    own: Embedder = load("embedder", name, EMBEDDERS)()
    return own
