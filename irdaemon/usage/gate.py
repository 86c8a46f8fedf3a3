"""The gate: whether what was learned finds more of the newest uses, and loses nothing else.

Uses are judged in order of time: prompts out of the older four fifths are counted in, and the
newest fifth is asked with and without them. What is learned has to rank those better, and must not
rank the corpus' own cases worse: labelled ones, or the queries that calibration makes of its texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from irdaemon.evaluate.measures import ndcg
from irdaemon.index import CorpusIndex

# What is asked at most: enough for an interval of two hundredths.
MOST_ASKED = 400
K = 10
_TWO_SIDED_95 = 1.96
# Means of equal figures may differ by this.
_EXACT = 1e-9

# Ids of what a text finds in an index, best first.
Rank = Callable[[CorpusIndex, str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A text, and the artifacts that it is to find."""

    text: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """NDCG@10 before and after over the same texts.

    `half_width` is half that of the 95% interval of their difference, `lowest` where the 95%
    interval of the mean before begins.
    """

    before: float
    after: float
    half_width: float
    lowest: float
    n: int

    @property
    def mean(self) -> float:
        """Return by how much NDCG@10 grew."""
        return self.after - self.before

    @property
    def better(self) -> bool:
        """Return whether it grew."""
        return self.mean > _EXACT

    @property
    def worse(self) -> bool:
        """Return whether it fell out of the 95% interval of what it was."""
        return self.after < self.lowest


def ranked_before(index: CorpusIndex, asked: Iterable[Asked], rank: Rank) -> list[float]:
    """Return the NDCG@10 of each text in an index."""
    return [ndcg(rank(index, each.text), each.gold, K) for each in asked]


def gain(before: Sequence[float], after: Sequence[float]) -> Gain:
    """Return what paired figures gained; the interval is that of a mean of differences."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    n = len(differences)
    if not n:
        return Gain(0.0, 0.0, 0.0, 0.0, 0)
    lowest = fmean(before) - _half_width(before)
    return Gain(fmean(before), fmean(after), _half_width(differences), lowest, n)


def _half_width(figures: Sequence[float]) -> float:
    """Return half the width of the 95% interval of a mean."""
    if len(figures) < 2:
        return math.inf
    return _TWO_SIDED_95 * stdev(figures) / math.sqrt(len(figures))
