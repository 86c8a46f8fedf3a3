"""The stand-in for an embedder that cannot be made now: it embeds nothing, and keeps the error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irclient.errors import Unavailable
from irdaemon.embed import Embedder

# How the id of an embedder that is not there begins.
ABSENT = "absent:"


class Absent(Embedder):
    """Refuse to embed, with the error that the real embedder gave when it was made.

    The corpus is served lexically, and by another embedder's vectors if it has them; its status
    shows the error. It is never replaced by another model.
    """

    dim = 0

    def __init__(self, name: str, error: Unavailable):
        self.id = f"{ABSENT}{name}"
        self.error = error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise Unavailable."""
        raise Unavailable(self.error.message, self.error.hint)
