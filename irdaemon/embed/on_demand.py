"""An embedder that is released when unused for a while, and made again at the next use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irdaemon.embed import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OnDemand(Embedder):
    """Stand for the embedder that `make` gives; `release` releases it."""

    def __init__(self, make: Callable[[], Embedder], clock: Callable[[], float] = time.monotonic):
        self._make = make
        self._clock = clock
        self._embedder: Embedder | None = make()
        self._used = clock()
        self.id, self.dim = self._embedder.id, self._embedder.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, after making the embedder again if need be; see Embedder."""
        return self._loaded().embed(texts)

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a query's vector and the known share, as `embed` does; see Embedder."""
        return self._loaded().read(text)

    def release(self, after_s: float) -> bool:
        """Release the embedder if unused for so long; return whether it is released."""
        if self._embedder is not None and self._clock() - self._used >= after_s:
            self._embedder = None
        return self._embedder is None

    def _loaded(self) -> Embedder:
        self._used = self._clock()
        # On two threads at once it is made twice: both are good, one stays.
        embedder = self._embedder or self._make()
        self._embedder = embedder
        return embedder
