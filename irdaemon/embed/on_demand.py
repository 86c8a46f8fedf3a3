"""An embedder that is released when unused for a while, and made again at the next use.

One whose id and dimension are known already is not made before its first use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irclient.errors import Unavailable
from irdaemon.embed import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class OnDemand(Embedder):
    """Stand for the embedder that `make` gives; `release` releases it.

    `known` is its id and dimension, where vectors of it are there already: it is then made at its
    first use, which raises Unavailable where another comes out.
    """

    def __init__(
        self,
        make: Callable[[], Embedder],
        clock: Callable[[], float] = time.monotonic,
        known: tuple[str, int] | None = None,
    ):
        self._make = make
        self._clock = clock
        self._embedder: Embedder | None = None
        self._used = clock()
        if known is None:
            self._embedder = made = make()
            known = made.id, made.dim
        self.id, self.dim = known

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

    def release_pages(self) -> None:
        """Give back what the embedder can have again at once, where it has such."""
        if release := getattr(self._embedder, "release_pages", None):
            release()

    def _loaded(self) -> Embedder:
        self._used = self._clock()
        # On two threads at once it is made twice: both are good, one stays.
        embedder = self._embedder or self._made()
        self._embedder = embedder
        return embedder

    def _made(self) -> Embedder:
        embedder = self._make()
        if embedder.id != self.id:
            raise Unavailable(
                f"the vectors are of embedder {self.id!r}, which is {embedder.id!r} now",
                "build the corpus again",
            )
        return embedder
