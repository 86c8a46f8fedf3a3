"""Embedders from optional packages, endpoints, and a program's own functions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError, Unavailable
from irdaemon.embed import Adapted, Embedder
from irdaemon.embed.missing import import_optional, load_model, shorten_name
from irdaemon.runtime.model_endpoint import ModelEndpoint


def _normalize_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to unit length; zeros stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


# Embedders behind an OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp, a hosted one.
#
# `openai:BASE_URL#MODEL`, such as `openai:http://127.0.0.1:11434/v1#nomic-embed-text`. The key, if
# one is needed, is read from OPENAI_API_KEY; it is neither stored nor logged. If the address is on
# another machine, the text of every surface and query leaves this one.

_ENDPOINT_BATCH = 64
_ENDPOINT_CHARS = 8_000
_TIMEOUT_S = 30.0
_TRIES = 3


class OpenAICompatible(Embedder):
    """Embed with a model that an HTTP endpoint serves."""

    def __init__(self, address: str, *, download: bool = False):
        try:
            self._endpoint = ModelEndpoint.from_address(address)
        except QueryError as error:
            raise QueryError(
                f"openai:{address} is not an embedder",
                "write openai:BASE_URL#MODEL, such as openai:http://127.0.0.1:11434/v1#MODEL",
            ) from error
        self.dim = len(self._request(["dimension"])[0])
        self.id = f"openai-{self._endpoint.model}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder. Raises Unavailable without an answer."""
        cut = [text[:_ENDPOINT_CHARS] for text in texts]
        batches = (cut[at : at + _ENDPOINT_BATCH] for at in range(0, len(cut), _ENDPOINT_BATCH))
        rows = [row for batch in batches for row in self._request(batch)]
        return _normalize_rows(np.array(rows, np.float32).reshape(len(texts), self.dim))

    def _request(self, texts: list[str]) -> list[list[float]]:
        # Some servers refuse an empty text.
        body = {"input": [text or " " for text in texts]}
        answer = self._endpoint.post("/embeddings", body, _TIMEOUT_S, _TRIES)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            return [row["embedding"] for row in rows]
        except (KeyError, TypeError) as error:
            message = f"{self._endpoint.url} did not answer with embeddings: {error!r}"
            raise Unavailable(message, "is it an OpenAI-compatible endpoint?") from error


# Embedders of a program: objects, and plain functions from texts to vectors.

# From texts to one row of numbers for each.
EmbedTexts = Callable[[Sequence[str]], Any]


class FromFunction(Embedder):
    """Embed with a function; its rows are scaled to unit length."""

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
        return _normalize_rows(rows)


def adopt_embedder(given: object) -> Embedder:
    """Return an embedder made from an object with `embed`, or from a function, by its `id`.

    Raises QueryError without an id: vectors are stored and compared by it.
    """
    id = getattr(given, "id", None)
    embed = getattr(given, "embed", given)
    if not callable(embed):
        raise QueryError(
            f"{given!r:.60} is not an embedder", "give a name, an object with embed, or a function"
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


# Contextual embedders of the sentence-transformers library. Extra: `sentence-transformers`.
#
# The model must already be on this machine, in the library's cache or as a folder: nothing is
# downloaded unless a person asks for it (`irdaemon fetch EMBEDDER`).

_SENTENCE_DEFAULT = "all-MiniLM-L6-v2"
_SENTENCE_BATCH = 32
# These models read a few hundred tokens, and truncate the rest.
_SENTENCE_CHARS = 4_000


class SentenceTransformers(Embedder):
    """Embed with a sentence-transformers model, by its name or folder."""

    def __init__(self, model: str = "", *, download: bool = False):
        library = import_optional("sentence_transformers", "sentence-transformers", self)
        model = model or _SENTENCE_DEFAULT
        path = os.path.expanduser(model)
        with load_model("sentence-transformers", model):
            self._model = library.SentenceTransformer(path, local_files_only=not download)
        self.dim = int(self.embed(["dimension"]).shape[1])
        self.id = f"sentence-transformers-{shorten_name(path)}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length; see Embedder."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        vectors: NDArray[np.float32] = self._model.encode(
            [text[:_SENTENCE_CHARS] for text in texts],
            batch_size=_SENTENCE_BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, np.float32)


# ONNX embedders of the fastembed library. Extra: `fastembed`.

_FASTEMBED_DEFAULT = "BAAI/bge-small-en-v1.5"
_FASTEMBED_BATCH = 64
_FASTEMBED_CHARS = 4_000


class FastEmbed(Embedder):
    """Embed with a fastembed model, by its name; queries get the model's own query prompt."""

    def __init__(self, model: str = "", *, download: bool = False):
        library = import_optional("fastembed", "fastembed", self)
        model = model or _FASTEMBED_DEFAULT
        with load_model("fastembed", model):
            self._model = library.TextEmbedding(model, local_files_only=not download)
        self.dim = int(self.embed(["dimension"]).shape[1])
        self.id = f"fastembed-{model.replace('/', '-')}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length; see Embedder."""
        cut = [text[:_FASTEMBED_CHARS] for text in texts]
        return self._stack(self._model.embed(cut, batch_size=_FASTEMBED_BATCH))

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return the unit vector of a query, made with the model's query prompt."""
        return self._stack(self._model.query_embed([text[:_FASTEMBED_CHARS]]))[0], 1.0

    def _stack(self, vectors: Iterable[Any]) -> NDArray[np.float32]:
        rows = np.array(list(vectors), np.float32)
        if not len(rows):
            return np.zeros((0, getattr(self, "dim", 0)), np.float32)
        return _normalize_rows(rows)


# Static embedders of the model2vec library. Extra: `model2vec`.

_MODEL2VEC_DEFAULT = "minishlab/potion-base-8M"
_MODEL2VEC_CHARS = 8_000


class Model2Vec(Embedder):
    """Embed with a model2vec model, by its name or folder."""

    instant = True

    def __init__(self, model: str = "", *, download: bool = False):
        library = import_optional("model2vec", "model2vec", self)
        model = model or _MODEL2VEC_DEFAULT
        path = os.path.expanduser(model)
        with load_model("model2vec", model), _stay_offline(not download):
            self._model = library.StaticModel.from_pretrained(path)
        self.dim = int(self._model.dim)
        self.id = f"model2vec-{shorten_name(path)}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, of unit length; see Embedder."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        cut = [text[:_MODEL2VEC_CHARS] for text in texts]
        return _normalize_rows(np.asarray(self._model.encode(cut), np.float32))


@contextlib.contextmanager
def _stay_offline(is_offline: bool) -> Iterator[None]:
    """Keep the model hub's library off the network in the block."""
    before = os.environ.get("HF_HUB_OFFLINE")
    if is_offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        yield
    finally:
        os.environ.pop("HF_HUB_OFFLINE", None)
        if before is not None:
            os.environ["HF_HUB_OFFLINE"] = before
