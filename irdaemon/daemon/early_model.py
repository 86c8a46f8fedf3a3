"""The model, read while the rest of the daemon is imported and the ledger is opened.

Reading a tokenizer takes a fifth of a warm start, without Python's lock: on a second core it takes
nothing. What cannot be made is left to the engine, which says why.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping

from irclient.errors import IRError
from irdaemon.embed import Embedder, make_embedder
from irdaemon.embed.ordinary import CodingRequests
from irdaemon.embed.pool import OnDemand


class EarlyModel(threading.Thread):
    """Make the embedder of a name, once, from `start` on."""

    def __init__(self, name: str):
        super().__init__(name="model", daemon=True)
        self._embedder_name = name
        self._made: list[Embedder] = []

    def run(self) -> None:
        """Make the embedder, and with it what the first query would have to embed."""
        with contextlib.suppress(IRError):
            embedder = make_embedder(self._embedder_name)
            self._made.append(embedder)
            if getattr(embedder, "instant", False):
                CodingRequests.embed_once(embedder)

    def wait_for_embedder(self) -> Mapping[str, Embedder]:
        """Wait for the embedder, and return it by its name; none where it cannot be made."""
        self.join()
        if not self._made:
            return {}
        return {self._embedder_name: OnDemand(self._take_embedder)}

    def _take_embedder(self) -> Embedder:
        """Return what was made early, once; later, after it was released, a new one."""
        return self._made.pop() if self._made else make_embedder(self._embedder_name)
