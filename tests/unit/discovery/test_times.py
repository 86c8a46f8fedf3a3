"""Words of time narrow sessions, where a text plausibly asks for sessions, and nothing else."""

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.discovery.times import TimeWindow, find_window
from irdaemon.types import Query
from tests.support.searching import engine_of, tool

# A Monday.
TODAY = date(2026, 11, 23)


def begin(day):
    return datetime.combine(day, time(), UTC)


def window(text, today=TODAY):
    """Return from which day on, and up to which."""
    found = find_window(text, today, begin)
    return found and tuple(each and f"{each:%Y-%m-%d}" for each in (found.start, found.end))


@pytest.mark.parametrize(
    ("said", "first", "behind"),
    [
        ("yesterday", "2026-11-22", "2026-11-23"),
        ("this morning", "2026-11-23", "2026-11-24"),
        ("the day before yesterday", "2026-11-21", "2026-11-22"),
        ("last week", "2026-11-16", "2026-11-23"),
        ("this week", "2026-11-23", "2026-11-30"),
        ("in the past week", "2026-11-16", "2026-11-24"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("on Monday", "2026-11-23", "2026-11-24"),
        ("last monday", "2026-11-16", "2026-11-17"),
        ("on friday", "2026-11-20", "2026-11-21"),
        ("in october", "2026-10-01", "2026-11-01"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("in may 2024", "2024-05-01", "2024-06-01"),
        ("3 days ago", "2026-11-20", "2026-11-21"),
        ("two weeks ago", "2026-11-09", "2026-11-16"),
        ("a month ago", "2026-10-01", "2026-11-01"),
        ("in the last 3 days", "2026-11-20", "2026-11-24"),
        ("2026-09-01", "2026-09-01", "2026-09-02"),
        ("in 2026-09", "2026-09-01", "2026-10-01"),
        ("since 2026-09-01", "2026-09-01", None),
        ("since tuesday", "2026-11-17", None),
        ("before 2026-09-01", None, "2026-09-01"),
        ("between 2026-09-01 and 2026-09-10", "2026-09-01", "2026-09-11"),
    ],
)
def test_words_of_time_mean_days(said, first, behind):
    assert window(f"what did we decide about caching {said}?") == (first, behind)


@pytest.mark.parametrize(
    "text",
    [
        "did we finish the last week view component",
        "did we install october cms",
        "we used yesterday's data in the report",
        "what did we write in notes/2024-11-21.txt",
        "did we read call-2025-11-04.vtt",
        "make a slide deck for the meetup on thursday",
        "the endpoint dies on startup, yesterday it was fine",
        "what did we do on 2026-02-30",
        "what did we do 999 years ago",
        "what may we do",
    ],
)
def test_what_is_no_time_of_sessions_narrows_nothing(text):
    assert window(text) is None


def test_a_long_story_is_not_about_sessions_however_often_it_names_a_day():
    assert window("what did we change yesterday? " + "it is slow since then. " * 20) is None


def test_where_sessions_alone_are_asked_a_time_is_enough():
    assert find_window("the webhook, yesterday", TODAY, begin) is None
    assert find_window("the webhook, yesterday", TODAY, begin, sessions_only=True)


def test_days_begin_where_the_person_is():
    zone = ZoneInfo("Europe/Berlin")
    found = find_window(
        "what did we do in october", TODAY, lambda day: datetime.combine(day, time(), zone)
    )
    assert found.describe() == {
        "from": "2026-10-01T00:00:00+02:00",
        "to": "2026-11-01T00:00:00+01:00",
    }
    assert found.holds("2026-09-30T22:00:00Z")
    assert not found.holds("2026-09-30T21:59:59Z")
    assert found.holds("2026-10-01T00:30:00")
    assert not any(map(found.holds, ("", "soon", None, 7)))


@given(st.text())
def test_no_text_is_too_strange(text):
    find_window(f"what did we do {text}", TODAY, begin, sessions_only=True)
    TimeWindow(begin(TODAY), None).holds(text)


@given(st.dates(), st.integers(0, 999), st.sampled_from(["day", "week", "month"]))
def test_no_number_of_days_is_too_large(today, count, unit):
    for text in (f"{count} {unit}s ago", f"the last {count} {unit}s", "last week", "last year"):
        find_window(text, today, begin, sessions_only=True)


def asked(query, **more):
    def turn(day, text):
        return tool(text, session_id=day, timestamp=f"{day}T12:00:00Z", **more)

    turns = {
        "september": turn("2026-09-10", "we made the webhook safe against a second delivery"),
        "october": turn("2026-10-10", "we made the webhook quick"),
    }
    made = engine_of({"webhook": tool("receive a webhook")}, turns=turns)
    return made.search(Query(query, k=20))


def test_sessions_are_narrowed_to_the_time_and_the_answer_says_so():
    answer = asked("what did we do to the webhook in 2026-09")
    assert {hit.artifact_id for hit in answer.results} == {"webhook", "september"}
    narrowed = answer.signals["narrowed"]
    assert narrowed["from"].startswith("2026-09-01")
    assert "empty" not in narrowed


def test_a_time_of_no_session_narrows_nothing_and_the_answer_says_so():
    answer = asked("what did we do to the webhook in 2026-01")
    assert {"september", "october"} <= {hit.artifact_id for hit in answer.results}
    assert answer.signals["narrowed"]["empty"]


def test_without_words_of_time_nothing_is_said_of_it():
    assert "narrowed" not in asked("what did we do to the webhook").signals
