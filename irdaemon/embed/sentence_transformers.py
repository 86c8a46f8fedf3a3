"""Contextual embedders of the sentence-transformers library. Extra: `sentence-transformers`.

The model must be on this machine already, in the library's cache or as a folder: nothing is
downloaded unless a person asks for it (`irdaemon fetch EMBEDDER`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irdaemon.embed import Embedder
from irdaemon.embed.missing import called, missing_model, required

DEFAULT = "all-MiniLM-L6-v2"
_BATCH = 32
# These models read a few hundred tokens; what comes later is cut off by them in any case.
_CHARS = 4_000


class SentenceTransformers(Embedder):
    """Embed with a sentence-transformers model, by its name or folder."""

    def __init__(self, model: str = DEFAULT, *, download: bool = False):
        library = required("sentence_transformers", "sentence-transformers", self)
        path = os.path.expanduser(model or DEFAULT)
        try:
            self._model = library.SentenceTransformer(path, local_files_only=not download)
        except (OSError, ValueError) as error:
            raise missing_model("sentence-transformers", model or DEFAULT, error) from error
        self.dim = int(self.embed(["dimension"]).shape[1])
        self.id = f"sentence-transformers-{called(path)}-{self.dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text; see Embedder."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        vectors: NDArray[np.float32] = self._model.encode(
            [text[:_CHARS] for text in texts],
            batch_size=_BATCH,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(vectors, np.float32)
