"""Shares with their uncertainty."""

import pytest

from irdaemon.contrib.usage.reports import compute_interval, describe_share


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 1, 0.2065, 1.0), (50, 100, 0.4038, 0.5962), (0, 0, 0.0, 1.0)],
)
def test_an_interval_is_wilsons(part, whole, low, high):
    assert compute_interval(part, whole) == pytest.approx((low, high), abs=1e-4)


def test_a_share_of_nothing_is_none():
    assert describe_share(0, 0) == {"share": None, "low": 0.0, "high": 1.0}
    assert describe_share(1, 4)["share"] == 0.25
