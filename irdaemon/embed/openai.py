"""Embedders behind an OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp, a hosted one.

`openai:BASE_URL#MODEL`, such as `openai:http://127.0.0.1:11434/v1#nomic-embed-text`. The key, where
one is needed, is read from OPENAI_API_KEY; it is neither stored nor logged. With an address beyond
this machine the text of every surface and query leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError, Unavailable
from irdaemon.embed import Embedder
from irdaemon.runtime.model_endpoint import ModelEndpoint

_BATCH = 64
_CHARS = 8_000
_TIMEOUT_S = 30.0
_TRIES = 3


class OpenAICompatible(Embedder):
    """Embed with a model that an HTTP endpoint serves."""

    def __init__(self, address: str, *, download: bool = False):
        try:
            self._endpoint = ModelEndpoint.at(address)
        except QueryError as error:
            raise QueryError(
                f"openai:{address} is not an embedder",
                "write openai:BASE_URL#MODEL, such as openai:http://127.0.0.1:11434/v1#MODEL",
            ) from error
        self.dim = len(self._request(["dimension"])[0])
        self.id = f"openai-{self._endpoint.model}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder. Raises Unavailable without an answer."""
        rows = [
            row
            for start in range(0, len(texts), _BATCH)
            for row in self._request([text[:_CHARS] for text in texts[start : start + _BATCH]])
        ]
        vectors = np.array(rows, np.float32).reshape(len(texts), self.dim)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(vectors, norms, out=vectors, where=norms > 0)
        return unit

    def _request(self, texts: list[str]) -> list[list[float]]:
        # An empty text is refused by some servers.
        body = {"input": [text or " " for text in texts]}
        answer = self._endpoint.post("/embeddings", body, _TIMEOUT_S, _TRIES)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            return [row["embedding"] for row in rows]
        except (KeyError, TypeError) as error:
            message = f"{self._endpoint.url} did not answer with embeddings: {error!r}"
            raise Unavailable(message, "is it an OpenAI-compatible endpoint?") from error
