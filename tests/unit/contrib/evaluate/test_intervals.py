"""Intervals of means, by resampling."""

import pytest

from irdaemon.contrib.evaluate.ranking import intervals


def test_an_interval_holds_the_mean_and_narrows_with_more_queries():
    few, many = [0.0, 1.0] * 5, [0.0, 1.0] * 200
    wide, narrow = intervals({"few": few})["few"], intervals({"many": many})["many"]
    assert wide[0] < 0.5 < wide[1]
    assert wide[0] < narrow[0] < 0.5 < narrow[1] < wide[1]
    assert narrow == pytest.approx((0.45, 0.55), abs=0.01)


def test_values_that_are_all_the_same_leave_no_doubt_and_one_alone_has_no_interval():
    assert intervals({"same": [0.5] * 9, "one": [0.5], "none": []}) == {"same": (0.5, 0.5)}


def test_the_same_values_have_the_same_interval_each_time_and_beside_others():
    series = [0.1, 0.9, 0.4, 0.4]
    assert intervals({"a": series, "b": [1.0, 0.0]})["a"] == intervals({"a": series})["a"]
