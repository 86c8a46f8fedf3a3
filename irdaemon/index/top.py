"""The largest of many scores, found without sorting or partitioning all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A sample that holds about so many of the wanted scores gives the threshold for a first pass,
# which lets through some times as many as are wanted, or this share of all.
_IN_SAMPLE = 16
_WIDER = 4
_SHARE = 64
_LOWEST = float("-inf")


def top(scores: NDArray[np.float32], depth: int, above: float = _LOWEST) -> NDArray[np.int64]:
    """Return the places of the `depth` largest scores above a number, ascending.

    And of all that tie with the last of them.
    """
    found = _likely(scores, depth, above)
    if len(found) < depth:
        found = np.flatnonzero(scores > above) if above > _LOWEST else np.arange(len(scores))
    if len(found) <= depth:
        return found
    theirs = scores[found]
    return found[theirs >= least_of(theirs, depth)]


def least_of(scores: NDArray[np.float32], depth: int) -> np.float32:
    """Return the `depth`th largest of at least so many scores."""
    least: np.float32 = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    return least


def _likely(scores: NDArray[np.float32], depth: int, above: float) -> NDArray[np.int64]:
    """Return every place from some score on: most often more than `depth`, else too few."""
    step = max(_WIDER * depth, len(scores) // _SHARE) // _IN_SAMPLE
    sample = scores[::step] if step > 1 else scores[:0]
    if len(sample) <= _WIDER * _IN_SAMPLE:
        return np.empty(0, np.int64)
    least = float(least_of(sample, _IN_SAMPLE))
    return np.flatnonzero(scores >= least) if least > above else np.empty(0, np.int64)
