"""Intervals: how far a mean could lie off by the choice of queries alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

_RESAMPLES = 1_000
_TAILS = (2.5, 97.5)

Interval = tuple[float, float]


def intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """Return the 95% interval of the mean of each series, by a bootstrap over its queries; seeded.

    Series of equal length are resampled alike. One of fewer than two values has none.
    """
    by_length: dict[int, list[str]] = {}
    for name, series in values.items():
        by_length.setdefault(len(series), []).append(name)
    found: dict[str, Interval] = {}
    for length, names in by_length.items():
        if length > 1:
            found |= _of_equal_length({name: values[name] for name in names}, length)
    return {name: found[name] for name in values if name in found}


def _of_equal_length(values: Mapping[str, Sequence[float]], length: int) -> dict[str, Interval]:
    table = np.array(list(values.values()), np.float64).T
    chance = np.random.default_rng(0)
    draws = (chance.integers(0, length, length) for _ in range(_RESAMPLES))
    means = np.array([table[drawn].mean(axis=0) for drawn in draws])
    low, high = np.percentile(means, _TAILS, axis=0)
    pairs = zip(values, low, high, strict=True)
    return {name: (round(float(a), 4), round(float(b), 4)) for name, a, b in pairs}
