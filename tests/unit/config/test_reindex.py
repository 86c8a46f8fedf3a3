"""When a corpus is scanned by itself, and the hours in which upkeep may run."""

from datetime import datetime

import pytest

from irdaemon.config.reindex import ALWAYS, QuietHours, Reindex, parse_quiet_hours

HOUR = 3600.0
NOW = datetime(2026, 6, 16, 12).timestamp()


def at(hour, minute=0):
    return datetime(2026, 6, 16, hour, minute).timestamp()


def test_what_follows_changes_may_be_scanned_at_any_time():
    assert Reindex().is_due(None, NOW)
    assert Reindex().is_due(NOW, NOW)
    assert Reindex().follows_changes


def test_an_interval_is_due_when_it_was_never_scanned_or_the_interval_has_passed():
    daily = Reindex("interval", 24 * HOUR)
    assert not daily.follows_changes
    found = [daily.is_due(scanned, NOW) for scanned in (None, NOW - HOUR, NOW - 25 * HOUR)]
    assert found == [True, False, True]


def test_what_is_indexed_by_hand_is_never_due():
    assert not Reindex("manual").is_due(None, NOW)
    assert not Reindex("manual").is_due(0.0, NOW)


def test_quiet_hours_end_before_their_end_and_may_go_beyond_midnight():
    early, late = parse_quiet_hours("02:00-06:30"), parse_quiet_hours("22:00-06:00")
    assert [early.hold(at(*time)) for time in ((1, 59), (2, 0), (6, 29), (6, 30))] == [
        *(False, True, True, False)
    ]
    assert [late.hold(at(hour)) for hour in (23, 0, 5, 6, 12, 21)] == [
        *(True, True, True, False, False, False)
    ]


def test_without_quiet_hours_every_time_is_one():
    assert parse_quiet_hours("") == ALWAYS
    assert all(ALWAYS.hold(at(hour)) for hour in range(24))


@pytest.mark.parametrize("text", ["2-6", "25:00-06:00", "02:60-06:00", "02:00-02:00"])
def test_what_is_no_part_of_a_day_is_refused(text):
    assert parse_quiet_hours(text) is None


def test_hours_are_shown_as_times():
    assert str(QuietHours(60, 150)) == "01:00 to 02:30"
