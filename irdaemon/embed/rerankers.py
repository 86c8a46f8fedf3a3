"""Rerankers: read query and text together, and score how well one answers the other.

Slow and better: tens of milliseconds for a few candidates. One is configured by name, `reranker =
"cross-encoder:MODEL"` or "module:attr", and is used if a query asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from irclient.errors import Unavailable
from irdaemon.embed.missing import import_optional, load_model, shorten_name
from irdaemon.runtime.plugins import load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Candidates of each corpus that are reranked.
DEPTH = 20
_DEFAULT = "cross-encoder/ms-marco-MiniLM-L-6-v2"
_CHARS = 2_000


class Reranker(Protocol):
    """Score texts for a query; `id` names the model, for which floors are stored."""

    id: str

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a probability, 0 to 1, for each text."""
        ...


RERANKERS: dict[str, str] = {"cross-encoder": "irdaemon.embed.rerankers:CrossEncoder"}


def check_reranker(name: str) -> None:
    """Raise QueryError for a name that is not a reranker's; loads no model."""
    if name and name.partition(":")[0] not in RERANKERS:
        load("reranker", name, RERANKERS)


def make_reranker(name: str, *, download: bool = False) -> Reranker:
    """Build the reranker called `name`. Raises QueryError, Unavailable if a part is missing."""
    family, _, model = name.partition(":")
    if family in RERANKERS:
        made: Reranker = load("reranker", family, RERANKERS)(model, download=download)
        return made
    own: Reranker = load("reranker", name, RERANKERS)()
    return own


class CrossEncoder:
    """Score with a cross-encoder of sentence-transformers; its logits through a logistic."""

    def __init__(self, model: str = "", *, download: bool = False):
        library = import_optional("sentence_transformers", "sentence-transformers", self)
        model = model or _DEFAULT
        path = os.path.expanduser(model)
        self.id = f"cross-encoder-{shorten_name(path)}"
        with load_model("cross-encoder", model):
            self._model = library.CrossEncoder(path, local_files_only=not download)

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a probability for each text; see Reranker."""
        import numpy as np

        if not texts:
            return np.zeros(0, np.float32)
        pairs = [(query[:_CHARS], text[:_CHARS]) for text in texts]
        logits = np.asarray(self._model.predict(pairs, activation_fn=_keep_logits), np.float32)
        probabilities = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
        probabilities[np.isnan(logits)] = 0  # a pair without a score must not be the best
        return np.asarray(probabilities, np.float32)


def _keep_logits(logits: object) -> object:
    return logits


class NoReranker:
    """The stand-in for a reranker that is not configured, or cannot be made."""

    id = ""

    def __init__(self, error: Unavailable):
        self._error = error

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise Unavailable."""
        raise Unavailable(self._error.message, self._error.hint)


NOT_CONFIGURED = NoReranker(
    Unavailable("no reranker is configured", 'add reranker = "cross-encoder" to the configuration')
)
