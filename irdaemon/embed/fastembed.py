"""ONNX embedders of the fastembed library. Extra: `fastembed`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder
from irdaemon.embed.missing import missing_model, required

DEFAULT = "BAAI/bge-small-en-v1.5"
_BATCH = 64
_CHARS = 4_000


class FastEmbed(Embedder):
    """Embed with a fastembed model, by its name; queries get the model's own query prompt."""

    def __init__(self, model: str = DEFAULT, *, download: bool = False):
        library = required("fastembed", "fastembed", self)
        try:
            self._model = library.TextEmbedding(model or DEFAULT, local_files_only=not download)
        except (OSError, ValueError, RuntimeError) as error:
            raise missing_model("fastembed", model or DEFAULT, error) from error
        self.dim = int(self.embed(["dimension"]).shape[1])
        self.id = f"fastembed-{(model or DEFAULT).replace('/', '-')}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder."""
        return self._unit(self._model.embed([t[:_CHARS] for t in texts], batch_size=_BATCH))

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return the unit vector of a query, made with the model's query prompt."""
        return self._unit(self._model.query_embed([text[:_CHARS]]))[0], 1.0

    def _unit(self, vectors: object) -> NDArray[np.float32]:
        rows = np.array(list(vectors), np.float32)  # type: ignore[call-overload]
        if not len(rows):
            return np.zeros((0, getattr(self, "dim", 0)), np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = rows / np.maximum(norms, 1e-12)
        return unit
