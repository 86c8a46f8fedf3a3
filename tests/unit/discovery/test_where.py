"""Filters: which records meet one, and how a mistake in one is reported."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.discovery.where import check_fields, parse_filter
from tests.support.searching import engine_of, tool

TOOLS = {
    "a": tool("one", team="docs", size=1, tags=["pdf", "office"], draft=True),
    "b": tool("two", team="ops", size=2.5, tags=[], draft=False),
    "c": tool(
        "three",
        team=None,
        since="2026-09-01",
        session_id="S",
        file=["/w/src/p.py"],
        commit=["0a1b2c3d"],
    ),
}


@pytest.fixture(scope="module")
def columns():
    return engine_of(TOOLS).snapshot.corpora["tools"].columns


def meeting(columns, where):
    """Return the tools that meet a filter."""
    positions = np.flatnonzero(parse_filter(where).make_mask(columns))
    rows = columns.rows
    return {rows.cards[int(rows.artifact_of.array[at])].artifact_id for at in positions}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, "abc"),
        ({"team": None}, "c"),
        ({"team": {"$exists": True}}, "abc"),
        ({"since": {"$exists": False}}, "ab"),
        ({"size": 1.0}, "a"),
        ({"size": True}, ""),
        ({"draft": 1}, ""),
        ({"draft": True}, "a"),
        ({"size": {"$gt": "1"}}, ""),
        ({"team": {"$gte": ""}}, "ab"),
        ({"tags": []}, "b"),
        ({"tags": ["pdf", "office"]}, "a"),
        ({"tags": {"$nin": ["pdf"]}}, "bc"),
        ({"size": {"$gt": 1, "$lt": 3}}, "b"),
        ({"$or": []}, ""),
        ({"$and": []}, "abc"),
        ({"$not": {"$or": [{"team": "docs"}, {"team": "ops"}]}}, "c"),
        ({"gone": "x"}, ""),
        ({"gone": {"$ne": "x"}}, "abc"),
        ({"size": float("nan")}, ""),
        ({"file": "/w/src/p.py"}, "c"),
        ({"file": "src/p.py"}, "c"),
        ({"file": "./p.py"}, "c"),
        ({"file": {"$in": ["q.py", "p.py"]}}, "c"),
        ({"file": "rc/p.py"}, ""),
        ({"file": "src"}, ""),
        ({"file": ""}, ""),
        ({"file": {"$ne": "p.py"}}, "ab"),
        ({"$not": {"file": "p.py"}}, "ab"),
        ({"$or": [{"file": "p.py"}, {"team": "ops"}]}, "bc"),
        ({"commit": "0a1b"}, "c"),
        ({"commit": "0a1b2c3d4e5f"}, "c"),
        ({"commit": "0a1"}, ""),
        ({"commit": {"$nin": ["0A1B2C3D"]}}, "ab"),
        ({"team": {"$path": "docs"}}, "a"),
    ],
)
def test_a_filter_lets_through_what_meets_it(columns, where, found):
    assert meeting(columns, where) == set(found)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"file": "lib/p.py"}, "a"),
        ({"file": "p.py"}, "b"),
        ({"file": {"$ne": "p.py"}}, "ac"),
        ({"file": ""}, "c"),
        ({"file": {"$in": ["p.py", ""]}}, "bc"),
        ({"file": {"$path": "p.py"}}, "ab"),
        ({"commit": "first"}, "a"),
        ({"commit": "1f"}, "b"),
        ({"commit": {"$eq": "1f", "$exists": True}}, "b"),
        ({"commit": "1f00", "$and": [{"file": "p.py"}]}, ""),
        ({"commit": "firs"}, ""),
    ],
)
def test_a_part_of_a_path_or_a_hash_is_equal_in_sessions_alone(where, found):
    records = {
        "a": tool("one", file="lib/p.py", commit="first"),
        "b": tool("two", file="p.py", commit="1f"),
        "c": tool("three", file="", commit=""),
    }
    columns = engine_of(records).snapshot.corpora["tools"].columns
    assert meeting(columns, where) == set(found)


conditions = st.recursive(
    st.dictionaries(
        st.sampled_from(["team", "size", "tags", "draft", "gone"]),
        st.sampled_from(["docs", 1, None, {"$gt": 1}, {"$in": ["pdf", 2.5]}, {"$ne": "ops"}]),
        max_size=2,
    ),
    lambda inner: (
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, max_size=3))
        | st.builds(lambda parts: {"$and": parts}, st.lists(inner, max_size=3))
    ),
    max_leaves=6,
)


@given(conditions)
def test_a_filter_and_its_negation_part_the_records(columns, where):
    assert meeting(columns, {"$not": where}) == set(TOOLS) - meeting(columns, where)


def test_every_field_that_is_asked_about_is_named_however_deep_it_stands():
    where = {"a": 1, "$or": [{"b": 2}, {"$not": {"c": {"$gt": 3}}}]}
    assert sorted(name for name, _ in parse_filter(where).conditions) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (["a"], "a filter is a mapping"),
        ({"$and": {"a": 1}}, r"\$and takes a list"),
        ({"$or": ["a"]}, "a filter is a mapping"),
        ({"$nor": []}, r"unknown filter operator '\$nor'; did you mean '\$or'"),
        ({"a": {"$gtt": 1}}, r"unknown filter operator '\$gtt'; did you mean '\$gt"),
        ({"a": {}}, "the condition on 'a' is empty"),
        ({"a": {"$in": "x"}}, r"\$in on 'a' takes a list"),
    ],
)
def test_a_mistake_in_a_filter_is_told_where_it_stands(where, told):
    with pytest.raises(QueryError, match=told):
        parse_filter(where)


def test_a_field_that_no_corpus_has_is_told_with_the_nearest():
    made = engine_of(TOOLS).snapshot.corpora["tools"]
    check_fields(parse_filter({"team": "x"}), [made])
    check_fields(parse_filter({"anything": "x"}), [])
    with pytest.raises(QueryError, match="unknown field 'taem' in the filter; did you mean 'team'"):
        check_fields(parse_filter({"taem": "x"}), [made])
