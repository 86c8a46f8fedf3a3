"""An embedder that is let go when nobody has needed it for a while, and made again for the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from irdaemon.embed import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Dozing:
    """Stand for the embedder that `make` gives; `doze` lets go of it."""

    def __init__(self, make: Callable[[], Embedder], clock: Callable[[], float] = time.monotonic):
        self._make = make
        self._clock = clock
        self._awake: Embedder | None = make()
        self._used = clock()
        self.id, self.dim = self._awake.id, self._awake.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, after making the embedder again if need be; see Embedder."""
        return self._woken().embed(texts)

    def __getattr__(self, name: str) -> Any:
        """Return what only some embedders have."""
        return getattr(self._woken(), name)

    def doze(self, after_s: float) -> bool:
        """Let go of the embedder if nobody used it for so long; say whether it is let go."""
        if self._awake is not None and self._clock() - self._used >= after_s:
            self._awake = None
        return self._awake is None

    def _woken(self) -> Embedder:
        self._used = self._clock()
        # On two threads at once it is made twice: both are good, one stays.
        awake = self._awake or self._make()
        self._awake = awake
        return awake
