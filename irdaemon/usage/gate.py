"""The gate: whether what was learned finds more of the newest uses, and loses nothing else.

Uses are judged in order of time: prompts out of the older four fifths are counted in, and the
newest fifth is asked with and without them (`weights_of` says what each of those counts). What is
learned has to rank them better, and must not rank the corpus' own cases worse: the queries that
calibration makes of its texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import mul

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


def ndcg_of_each(index: CorpusIndex, asked: Iterable[Asked], rank: Rank) -> list[float]:
    """Return the NDCG@10 of each text in an index."""
    from irdaemon.evaluate.measures import ndcg  # with all of its room, which no start needs

    return [ndcg(rank(index, each.text), each.gold, K) for each in asked]


def gain(
    before: Sequence[float], after: Sequence[float], weights: Sequence[float] | None = None
) -> Gain:
    """Return what paired figures gained, each by its weight; the interval is that of the mean.

    The standard error of a weighted mean is taken as that of a stratified sample (Cochran 1977,
    section 5.4) with one spread for all strata.
    """
    n = len(before)
    if not n:
        return Gain(0.0, 0.0, 0.0, 0.0, 0)
    shares = [1 / n] * n if weights is None else [each / sum(weights) for each in weights]
    differences = [b - a for a, b in zip(before, after, strict=True)]
    means = [sum(map(mul, shares, figures)) for figures in (before, after)]
    lowest = means[0] - _half_width(before, shares)
    return Gain(means[0], means[1], _half_width(differences, shares), lowest, n)


def weights_of(learned: Sequence[bool], share: float) -> list[float]:
    """Return what each held-out use counts, by whether anything was learned of what it used.

    The older four fifths teach less than all uses do: a use whose artifact is not learned of yet
    shows what the others' prompts take from it, and nothing else. So both kinds count by the share
    of all uses, 0 to 1, whose artifacts are learned of in what would be published.
    """
    of_learned = sum(learned)
    others = len(learned) - of_learned
    if not of_learned or not others:
        return [1.0] * len(learned)
    return [share / of_learned if each else (1 - share) / others for each in learned]


def _half_width(figures: Sequence[float], shares: Sequence[float]) -> float:
    """Return half the width of the 95% interval of a weighted mean."""
    if len(figures) < 2:
        return math.inf
    from statistics import stdev

    return _TWO_SIDED_95 * stdev(figures) * math.sqrt(sum(share * share for share in shares))
