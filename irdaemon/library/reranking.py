"""A function that reads candidates again, as the reranker of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from irclient.errors import QueryError

# From a query and texts: for each how well it answers, from 0 to 1.
ScoreTexts = Callable[[str, Sequence[str]], Sequence[float]]


class FromScores:
    """Rerank by a function; what it returns is checked."""

    id = "function"

    def __init__(self, function: ScoreTexts):
        if not callable(function):
            raise QueryError(
                f"rerank is a function (query, texts) -> scores, not {function!r:.60}",
                "in the daemon a reranker is configured by its name",
            )
        self._function = function

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text. Raises QueryError for what is no such scores."""
        try:
            given = np.asarray(self._function(query, list(texts)), np.float32)
        except (TypeError, ValueError) as error:
            raise QueryError(f"rerank failed: {type(error).__name__}: {error}") from error
        if given.shape != (len(texts),) or not ((given >= 0) & (given <= 1)).all():
            raise QueryError(
                f"rerank gave no number from 0 to 1 for each of {len(texts)} texts",
                "put other scores through a logistic first",
            )
        return given
