"""A first look at vectors by the strongest of their principal axes.

The vectors of a corpus are turned so that as few numbers as possible hold most of their length; the
first of those are kept a second time, side by side, where scanning them takes half the time.
What such a scan leaves open is known: over the records the rest of a cosine is spread like a normal
distribution whose width follows from the axes. So the records that may belong to the nearest are
scored exactly, with so much room that of the last of a hundred one in fifty is missed, and of the
first ten two in a thousand. Where too many would be scored, or the vectors have no such axes, all
are. docs/speed.md has the figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from irdaemon.index.growing import Growing
from irdaemon.index.rows import Rows
from irdaemon.index.top import least_of, top

WIDTH = 128
# Below so many vectors the whole product costs no more.
FEWEST = 8_000
# The axes are found in so many vectors, and anew when there are twice as many as then.
_SAMPLED = 10_000
_GROWN = 2
# A first look helps where it sees this share of the squared length.
_LEAST_SEEN = 0.65
# How many deviations of what it does not see are allowed for.
_DEVIATIONS = 2.0
# From this share of the records on, scoring all costs less than gathering those wanted.
_MOST = 0.2
_TURNED_AT_ONCE = 4_096
_GATHERED_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first WIDTH numbers of each record's turned vector.

    `axes` turns a vector, a principal axis in each row, the strongest first; `power` is the mean
    square of the vectors along each. `heads` has a row for each record, of which only those that
    are `embedded` mean anything. `made_of` counts the vectors that there were when the axes were
    found. Where those do not `help` there are no heads.
    """

    axes: NDArray[np.float32]
    power: NDArray[np.float32]
    heads: Growing
    embedded: NDArray[np.bool_]
    epoch: int
    made_of: int
    helps: bool

    @classmethod
    def of(cls, rows: Rows, previous: Prefix | None = None) -> Prefix | None:
        """Return the prefix of these rows, on an earlier one's axes where they still hold.

        None where there are too few vectors.
        """
        embedded = int(np.count_nonzero(rows.embedded))
        if embedded < FEWEST or rows.vectors.buffer.shape[1] <= WIDTH:
            return None
        if previous is None or previous.epoch != rows.epoch or embedded > _GROWN * previous.made_of:
            axes, power = _principal_axes(rows)
            helps = bool(power[:WIDTH].sum() >= _LEAST_SEEN * power.sum())
            heads, none = Growing.of(np.zeros((0, WIDTH), np.float32)), np.zeros(0, np.bool_)
            previous = cls(axes, power, heads, none, rows.epoch, embedded, helps)
        return previous._with(rows) if previous.helps else previous

    def _with(self, rows: Rows) -> Prefix:
        """Return the prefix with what has been embedded since."""
        before, end = len(self.embedded), len(rows.embedded)
        heads = self.heads.append(np.zeros((end - before, WIDTH), np.float32))
        came = rows.embedded.copy()
        came[:before] &= ~self.embedded
        positions = np.flatnonzero(came)
        for start in range(0, len(positions), _TURNED_AT_ONCE):
            part = positions[start : start + _TURNED_AT_ONCE]
            # In place: no earlier generation reads the head of what it knows as not embedded.
            heads.array[part] = rows.vectors.array[part] @ self.axes[:WIDTH].T
        return replace(self, heads=heads, embedded=rows.embedded)

    def near(
        self, rows: Rows, vector: NDArray[np.float32], depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Return positions that hold the nearest `depth` records, ascending, and their cosines.

        None where too many records would have to be scored to be as good as certain.
        """
        if not self.helps:
            return None
        turned = self.axes @ vector
        seen = self.heads.array @ turned[:WIDTH]
        likely = self._scored(rows, vector, top(seen, depth))
        if len(likely[0]) < depth:
            return None
        spread = self.power * turned * turned
        head, rest = float(spread[:WIDTH].sum()), float(spread[WIDTH:].sum())
        share = head / max(head + rest, 1e-12)
        least = float(least_of(likely[1], depth)) * share - _DEVIATIONS * math.sqrt(rest * share)
        positions = np.flatnonzero(seen >= least)
        return (
            self._scored(rows, vector, positions) if len(positions) <= _MOST * len(seen) else None
        )

    def _scored(
        self, rows: Rows, vector: NDArray[np.float32], positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        held = positions[self.embedded[positions]]
        return held, products(rows.vectors.array, held, vector)


def products(
    vectors: NDArray[np.float32], rows: NDArray[np.int64], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the products of some rows with a vector.

    A few at a time, so that what is gathered stays in the cache, and in memory that is there.
    """
    found = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _GATHERED_AT_ONCE):
        part = slice(start, start + _GATHERED_AT_ONCE)
        np.matmul(vectors[rows[part]], vector, out=found[part])
    return found


def _principal_axes(rows: Rows) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the axes of the vectors there are, a row each, and the mean square along each."""
    embedded = np.flatnonzero(rows.embedded)
    sample = rows.vectors.array[embedded[:: max(1, len(embedded) // _SAMPLED)]]
    power, axes = np.linalg.eigh(sample.T @ sample / np.float32(len(sample)))
    strongest_first = np.ascontiguousarray(axes[:, ::-1].T, np.float32)
    return strongest_first, np.maximum(power[::-1], 0).astype(np.float32)
