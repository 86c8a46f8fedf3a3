"""Embedders behind an OpenAI-compatible endpoint: Ollama, vLLM, llama.cpp, a hosted one.

`openai:BASE_URL#MODEL`, such as `openai:http://127.0.0.1:11434/v1#nomic-embed-text`. The key, where
one is needed, is read from OPENAI_API_KEY; it is neither stored nor logged. With an address beyond
this machine the text of every surface and query leaves it. One small request needs no library.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError, Unavailable
from irdaemon.embed import Embedder

_BATCH = 64
_CHARS = 8_000
_TIMEOUT_S = 30.0
_TRIES = 3
_BUSY = (429, 500, 502, 503, 504)


class OpenAICompatible(Embedder):
    """Embed with a model that an HTTP endpoint serves."""

    def __init__(self, address: str, *, download: bool = False):
        base, _, model = address.partition("#")
        if not base.startswith(("http://", "https://")) or not model:
            raise QueryError(
                f"openai:{address} is not an embedder",
                "write openai:BASE_URL#MODEL, such as openai:http://127.0.0.1:11434/v1#MODEL",
            )
        self._url = f"{base.rstrip('/')}/embeddings"
        self._model = model
        self.dim = len(self._request(["dimension"])[0])
        self.id = f"openai-{model}-{self.dim}"

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
        body = json.dumps({"model": self._model, "input": [text or " " for text in texts]})
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self._url, body.encode(), headers)
        answer = self._sent(request)
        try:
            rows = sorted(json.loads(answer)["data"], key=lambda row: row["index"])
            return [row["embedding"] for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            message = f"{self._url} did not answer with embeddings: {error!r}"
            raise Unavailable(message, "is it an OpenAI-compatible endpoint?") from error

    def _sent(self, request: urllib.request.Request) -> bytes:
        for turn in range(_TRIES):
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                    content: bytes = answer.read()
                    return content
            except urllib.error.HTTPError as error:
                error.close()  # it is the answer too, with its connection
                if error.code in _BUSY and turn < _TRIES - 1:
                    time.sleep(0.2 * 2**turn)
                    continue
                message = f"{self._url} refused ({error.code} {error.reason})"
                raise Unavailable(message, _ADVICE.get(error.code, "")) from error
            except (OSError, ValueError) as error:
                raise Unavailable(f"{self._url} cannot be reached: {error}", "is it up?") from error
        raise AssertionError("unreachable: the last try returns or raises")


_ADVICE = {
    401: "set OPENAI_API_KEY for the daemon",
    403: "set OPENAI_API_KEY for the daemon",
    404: "check the address, and that the endpoint has the model",
}
