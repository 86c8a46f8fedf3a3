"""An embedder that is released when unused for a while, and made again at the next use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irdaemon.embed import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Dozing(Embedder):
    """Stand for the embedder that `make` gives; `doze` releases it."""

    def __init__(self, make: Callable[[], Embedder], clock: Callable[[], float] = time.monotonic):
        self._make = make
        self._clock = clock
        self._awake: Embedder | None = make()
        self._used = clock()
        self.id, self.dim = self._awake.id, self._awake.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, after making the embedder again if need be; see Embedder."""
        return self._woken().embed(texts)

    def read(self, text: str) -> tuple[NDArray[np.float32], float]:
        """Return a query's vector and the known share, as `embed` does; see Embedder."""
        return self._woken().read(text)

    def doze(self, after_s: float) -> bool:
        """Release the embedder if unused for so long; return whether it is released."""
        if self._awake is not None and self._clock() - self._used >= after_s:
            self._awake = None
        return self._awake is None

    def _woken(self) -> Embedder:
        self._used = self._clock()
        # On two threads at once it is made twice: both are good, one stays.
        awake = self._awake or self._make()
        self._awake = awake
        return awake
