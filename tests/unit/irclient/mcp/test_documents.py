"""Indexed text reaches a model without what a person would not see."""

import functools
import os
import time
import unicodedata
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irclient.mcp.documents.search import LibrarySearch, cut_snippet, find_bounds, make_filters
from irclient.mcp.items import make_plain, make_plain_line, make_plain_place
from irdaemon.discovery.where import parse_filter
from tests.support.searching import engine_of, tool

SATURDAY = date(2026, 11, 21)


@given(st.text())
def test_no_text_keeps_a_control_or_format_character(text):
    kept = make_plain(text)
    assert {unicodedata.category(c) for c in kept if c not in "\n\t"}.isdisjoint({"Cc", "Cf"})
    assert make_plain(kept) == kept


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], max_codepoint=0x10FF)))
def test_what_can_be_read_is_kept(text):
    assert make_plain(text) == text


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("a\x1b[2Jb", "a[2Jb"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("no\u200b\u2060\ufeffthing", "nothing"),
        ("tag\U000e0041\U000e0042s", "tags"),
        ("select\ufe01or\U000e0101", "selector"),
        ("fill\u3164\u115fer", "filler"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("tab\there", "tab\there"),
    ],
)
def test_what_hides_is_taken_out(hidden, seen):
    assert make_plain(hidden) == seen


def test_a_name_is_one_line_and_a_path_keeps_its_spaces():
    assert make_plain_line(" a\n\n b\tc ") == "a b c"
    assert make_plain_place("/a  b/c\nd") == "/a  b/c d"


def test_a_snippet_marks_the_words_of_the_query_where_they_are():
    text = "x " * 200 + "Write changelogs from commits, and Commit often."
    cut = cut_snippet(text, "commit a change")
    assert "Write <mark>changelogs</mark> from <mark>commits</mark>" in cut
    assert "<mark>Commit</mark> often" in cut
    assert cut_snippet("nothing of it", "zebra") == "nothing of it"


@given(st.text(), st.text())
def test_any_text_and_query_make_a_snippet(text, query):
    assert (
        cut_snippet(text, query).replace("<mark>", "").replace("</mark>", "") in text
        or "<mark>" in text
    )


@pytest.mark.parametrize(
    ("name", "first", "end"),
    [
        ("today", "2026-11-21", "2026-11-22"),
        ("yesterday", "2026-11-20", "2026-11-21"),
        ("this_week", "2026-11-16", "2026-11-22"),
        ("last_week", "2026-11-09", "2026-11-16"),
        ("last_7_days", "2026-11-15", "2026-11-22"),
        ("this_month", "2026-11-01", "2026-11-22"),
        ("last_month", "2026-10-01", "2026-11-01"),
        ("last_30_days", "2026-10-23", "2026-11-22"),
        ("this_year", "2026-01-01", "2026-11-22"),
    ],
)
def test_a_span_of_time_has_a_first_day_and_a_day_after(name, first, end):
    assert find_bounds(name, SATURDAY) == (date.fromisoformat(first), date.fromisoformat(end))


ZONES = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York", "Asia/Kolkata"]
DAYS = [f"2026-11-{n:02}" for n in range(18, 26)]
CLOCKS = [f"{day} {clock}" for day in DAYS for clock in ("00:00:00", "23:59:59")]


@pytest.fixture(params=ZONES)
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def in_utc(clock):
    here = datetime.fromisoformat(clock).astimezone()
    return here.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@functools.cache
def index_stamped(zone):
    """Return the columns of documents that state every day, and each moment of a zone."""
    stamps = {**{day: day for day in DAYS}, **{clock: in_utc(clock) for clock in CLOCKS}}
    engine = engine_of({name: tool(name, timestamp=at) for name, at in stamps.items()})
    return engine.snapshot.corpora["tools"].columns


def find_by_time(search):
    """Return the documents that a search's filter lets through, by the day or moment they state."""
    columns = index_stamped(os.environ["TZ"])
    where, _ = make_filters(search, SATURDAY)
    rows = columns.rows
    positions = np.flatnonzero(parse_filter(where).make_mask(columns))
    return {rows.cards[int(rows.artifact_of.array[at])].artifact_id for at in positions}


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({"start": date(2026, 11, 20), "end": date(2026, 11, 20)}, 20, 20),
        ({"start": date(2026, 11, 20), "end": date(2026, 11, 22)}, 20, 22),
        ({"start": date(2026, 11, 20)}, 20, 25),
        ({"end": date(2026, 11, 20)}, 18, 20),
        ({"timeframe": "today"}, 21, 21),
        ({"timeframe": "yesterday"}, 20, 20),
        ({"timeframe": "last_7_days"}, 18, 21),
        ({"end": date.max}, 18, 25),
        ({"start": date.min}, 18, 25),
    ],
)
def test_dates_are_days_here_and_both_are_included(zone, asked, first, last):
    within = DAYS[first - 18 : last - 17]
    moments = [clock for clock in CLOCKS if clock[:10] in within]
    assert find_by_time(LibrarySearch("q", **asked)) == {*within, *moments}


def test_a_start_after_the_end_is_said():
    with pytest.raises(QueryError, match="2026-11-21 is after end_date 2026-11-20"):
        make_filters(LibrarySearch("q", start=SATURDAY, end=date(2026, 11, 20)), SATURDAY)


@pytest.mark.parametrize("wanted", ["text", "code", "pdf", "image", "multimodal"])
def test_every_asset_type_is_a_filter_and_nothing_asked_is_none(wanted):
    assert make_filters(LibrarySearch("q"), SATURDAY) == ({}, [])
    both = LibrarySearch("q", asset_type=wanted, end=SATURDAY)
    where, fields = make_filters(both, SATURDAY)
    assert (where["asset_type"], fields) == (wanted, ["asset_type", "timestamp"])
