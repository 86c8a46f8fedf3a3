"""Graded cases: their file, and the queries that are made of them."""

import json

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.graded import (
    GradedCase,
    graded_queries,
    graded_query,
    level_histogram,
    load_graded_cases,
    read_graded_meta,
    save_graded_cases,
)

CASES = [
    GradedCase("plotter", {"maps": "core"}, is_thin=True),
    GradedCase("atlas", {"maps": "core", "audio": "none"}),
    GradedCase("tiles", {"maps": "strong"}, is_thin=True),
    GradedCase("router", {"maps": "uses-tools"}, is_thin=True, observed={"maps": 0.9}),
    GradedCase("treasure", {"maps": "tangential"}, observed={"maps": 0.6}),
    GradedCase("mapper", {"maps": "none"}, observed={"maps": 0.4, "audio": 0.9}),
    GradedCase("mixer", {"audio": "core"}, observed={"maps": 0.1}),
]


def test_cases_come_back_from_a_file_as_they_were_saved_with_what_is_said_of_all(tmp_path):
    full = GradedCase("a", {"x": "core"}, {"x": "why"}, {"x": 0.5}, True, {"x": False}, {"seen": 1})
    path = tmp_path / "cases.jsonl"
    save_graded_cases(path, [full, *CASES], {"texts": {"maps": "draw a map"}})
    assert load_graded_cases(path) == [full, *CASES]
    assert read_graded_meta(path) == {"texts": {"maps": "draw a map"}}
    first, _, second, *_ = path.read_text("utf-8").splitlines()
    assert json.loads(first) == {"__meta__": {"texts": {"maps": "draw a map"}}}
    assert json.loads(second) == {
        "artifact_id": "plotter",
        "levels": {"maps": "core"},
        "is_thin": True,
    }


def test_a_file_without_a_first_line_of_that_kind_says_nothing_of_all(tmp_path):
    path = tmp_path / "cases.jsonl"
    save_graded_cases(path, CASES)
    assert read_graded_meta(path) == {}
    path.write_text("\n", "utf-8")
    assert (read_graded_meta(path), load_graded_cases(path)) == ({}, [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "cases.jsonl:2: not JSON"),
        ("3", "cases.jsonl:2 has no artifact_id"),
        ('{"levels": {}}', "cases.jsonl:2 has no artifact_id"),
        ('{"artifact_id": "a", "levels": ["core"]}', "cases.jsonl:2: levels must be a mapping"),
        ('{"artifact_id": "a", "levels": {"x": "strogn"}}', "'strogn' of 'a'; did you mean"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path, line, said):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"artifact_id": "ok"}\n' + line, "utf-8")
    with pytest.raises(QueryError, match=said):
        load_graded_cases(path)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(QueryError, match=r"none\.jsonl"):
        load_graded_cases(tmp_path / "none.jsonl")


def test_what_has_no_level_has_none_and_a_level_without_a_gain_gains_nothing():
    case = GradedCase("a", {"maps": "core"})
    assert (case.level("maps"), case.gain("maps")) == ("core", 3.0)
    assert (case.level("audio"), case.gain("audio")) == ("none", 0.0)
    assert case.gain("audio", {"core": 5.0}) == 0.0
    assert case.gain("maps", {"core": 5.0}) == 5.0


def test_every_level_is_counted_those_that_nothing_has_too():
    assert level_histogram(CASES, "maps") == {
        "none": 2,
        "tangential": 1,
        "uses-tools": 1,
        "strong": 1,
        "core": 2,
    }
    assert level_histogram([], "maps")["core"] == 0


def test_a_query_watches_what_came_up_in_vain_and_what_answers_and_hardly_says_so():
    query = graded_query(CASES, "maps", "draw a map", 0.4)
    assert (query.theme, query.text) == ("maps", "draw a map")
    assert query.distractors == ("mapper", "treasure")
    assert query.hard_positives == ("plotter", "tiles")
    assert query.gains == {"plotter": 3, "atlas": 3, "tiles": 2, "router": 1}
    assert graded_query(CASES[::-1], "maps", "draw a map", 0.4) == query
    assert graded_query(CASES, "maps", "draw a map", 0.5).distractors == ("treasure",)


def test_what_a_case_says_of_itself_counts_more_than_its_score():
    cases = [
        GradedCase("said", {"maps": "none"}, is_distractor={"maps": True}),
        GradedCase(
            "denied", {"maps": "none"}, observed={"maps": 0.9}, is_distractor={"maps": False}
        ),
    ]
    assert graded_query(cases, "maps", "draw a map", 0.4).distractors == ("said",)


def test_each_theme_needs_a_text():
    both = graded_queries(CASES, {"maps": "draw a map", "audio": "mix audio"}, 0.4)
    assert [query.theme for query in both] == ["maps", "audio"]
    with pytest.raises(QueryError, match="theme 'audio' has no text"):
        graded_queries(CASES, {"maps": "draw a map"}, 0.4)
    with pytest.raises(QueryError, match="no text"):
        graded_query(CASES, "maps", " ", 0.4)
