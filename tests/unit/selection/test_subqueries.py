"""Which parts of a query ask for something, and what they bring."""

import pytest

from irdaemon.selection.subqueries import needs
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
    assert needs(text) == parts


def test_a_document_is_not_a_list_of_wishes():
    assert needs("fill a pdf form and deploy to the cloud. " * 100) == []


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


def test_a_part_that_the_first_hit_serves_adds_nothing():
    answer = engine_of(TOOLS).discover(Query("fill a pdf form and fill the form with data"))
    assert names(answer) == ["fill"]
