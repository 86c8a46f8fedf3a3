"""Static embedders of the model2vec library. Extra: `model2vec`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder
from irdaemon.embed.missing import called, missing_model, required

DEFAULT = "minishlab/potion-base-8M"
_CHARS = 8_000


class Model2Vec(Embedder):
    """Embed with a model2vec model, by its name or folder."""

    def __init__(self, model: str = DEFAULT, *, download: bool = False):
        library = required("model2vec", "model2vec", self)
        path = os.path.expanduser(model or DEFAULT)
        try:
            with _offline(not download):
                self._model = library.StaticModel.from_pretrained(path)
        except (OSError, ValueError) as error:
            raise missing_model("model2vec", model or DEFAULT, error) from error
        self.dim = int(self._model.dim)
        self.id = f"model2vec-{called(path)}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        rows = np.asarray(self._model.encode([text[:_CHARS] for text in texts]), np.float32)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(rows, norms, out=rows, where=norms > 0)
        return unit


class _offline:  # noqa: N801 (a context manager, used like a function)
    """Keep the model hub's library off the network meanwhile."""

    def __init__(self, wanted: bool):
        self._wanted = wanted

    def __enter__(self) -> None:
        self._before = os.environ.get("HF_HUB_OFFLINE")
        if self._wanted:
            os.environ["HF_HUB_OFFLINE"] = "1"

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            os.environ.pop("HF_HUB_OFFLINE", None)
        else:
            os.environ["HF_HUB_OFFLINE"] = self._before
