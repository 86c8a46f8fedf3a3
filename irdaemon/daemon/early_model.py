"""The model, loaded while the rest of the daemon is imported and the ledger is opened.

Loading a tokenizer takes a fifth of a warm start, without Python's lock: on a second core it is
free. If a model cannot be made, the engine says why.
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
    """Make the embedder of a name, once, after `start`."""

    def __init__(self, name: str):
        super().__init__(name="model", daemon=True)
        self._embedder_name = name
        self._made: list[Embedder] = []

    def run(self) -> None:
        """Make the embedder, and embed the coding requests that the first query needs."""
        with contextlib.suppress(IRError):
            embedder = make_embedder(self._embedder_name)
            self._made.append(embedder)
            if getattr(embedder, "instant", False):
                CodingRequests.embed_once(embedder)

    def wait_for_embedder(self) -> Mapping[str, Embedder]:
        """Wait for the embedder, and return it by name; return {} if it cannot be made."""
        self.join()
        if not self._made:
            return {}
        return {self._embedder_name: OnDemand(self._take_embedder)}

    def _take_embedder(self) -> Embedder:
        """Return the embedder made early, the first time; later, after a release, a new one."""
        return self._made.pop() if self._made else make_embedder(self._embedder_name)
