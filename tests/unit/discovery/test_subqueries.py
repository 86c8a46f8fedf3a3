"""Which parts of a query are sub-queries, and what they add."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.discovery.variants import _JOINT, split_query
from irdaemon.types import Query, SelectSpec
from tests.support.searching import engine_of, names, tool


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("fill a pdf form", []),
        (
            "fill a pdf form and deploy to the cloud",
            ["fill a pdf form", "deploy to the cloud"],
        ),
        ("merge pdf files. Then write the invoice!", ["merge pdf files", "Then write the invoice"]),
        ("salt and pepper", []),
        ("merge pdf; also deploy cloud", ["merge pdf", "also deploy cloud"]),
        ("", []),
    ],
)
def test_a_query_is_split_where_both_parts_ask_for_something(text, parts):
    assert split_query(text) == parts


_FROM_EVERY_MARK = re.compile(
    r"[.?!;\n]+(?:\s+|$)"
    r"|,?\s+(?:and\s+)?(?:then|also|plus|as well as|additionally)\s+"
    r"|,?\s+and\s+",
    re.IGNORECASE,
)


@given(st.lists(st.sampled_from([*".?!;\n ,x\t", "and", "then", " and then "])).map("".join))
def test_joints_are_looked_for_where_runs_begin_and_none_is_missed(text):
    assert _JOINT.split(text) == _FROM_EVERY_MARK.split(text)


def test_a_document_is_not_a_list_of_requests():
    assert split_query("fill a pdf form and deploy to the cloud. " * 100) == []


TOOLS = {
    "fill": tool("Fill a pdf form with data"),
    "deploy": tool("Deploy services to the cloud"),
    "merge": tool("Merge two git branches"),
}


def test_a_query_for_two_things_commits_one_hit_for_each():
    answer = engine_of(TOOLS).discover(Query("fill a pdf form and deploy services to the cloud"))
    assert set(names(answer)) == {"fill", "deploy"}
    assert answer.signals["n_selected"] == 2


def test_the_limit_is_kept_whatever_is_asked_for():
    text = "fill a pdf form. deploy services to the cloud. merge two git branches."
    engine = engine_of(TOOLS)
    assert len(engine.discover(Query(text, select=SelectSpec(max_k=1))).results) == 1
    assert len(engine.discover(Query(text, select=SelectSpec(max_k=2))).results) == 2


def test_a_strategy_asked_for_by_name_is_followed_to_the_letter():
    spec = SelectSpec("top_k", max_k=1)
    text = "fill a pdf form and deploy services to the cloud"
    assert len(engine_of(TOOLS).discover(Query(text, select=spec)).results) == 1


def test_a_part_that_the_first_hit_answers_adds_nothing():
    answer = engine_of(TOOLS).discover(Query("fill a pdf form and fill the form with data"))
    assert names(answer) == ["fill"]
