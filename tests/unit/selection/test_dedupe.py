"""Copies are one hit: exact ones everywhere, near ones before selection."""

from irdaemon.types import Query
from tests.support.searching import engine_of, tool

LONG = "Fill a pdf form with data from a table, check it, sign it, and flatten the result"


def collapsed(items, call="discover", query="fill a pdf form"):
    answer = getattr(engine_of(items), call)(Query(query))
    return {hit.artifact_id: set(hit.copies) for hit in answer.results}


def test_equal_content_is_one_hit_of_the_best_scope_and_lists_the_others():
    items = {
        "other": tool(LONG, name="fill", scope="other"),
        "plugin": tool(LONG, name="fill", scope="plugin"),
        "project": tool(LONG, name="fill", scope="project"),
        "user": tool(LONG, name="fill", scope="user"),
    }
    assert collapsed(items) == {"project": {"tools/other", "tools/plugin", "tools/user"}}


def test_versions_of_one_name_with_nearly_the_same_text_join_before_selection_only():
    items = {
        "old": tool(LONG, name="fill", scope="user"),
        "new": tool(LONG + " file", name="fill", scope="project"),
    }
    assert collapsed(items) == {"new": {"tools/old"}}
    assert set(collapsed(items, "search")) == {"new", "old"}


def test_one_name_with_different_texts_stays_two():
    items = {
        "a": tool(LONG, name="fill"),
        "b": tool("Fill the water tank of a pdf printer before each shift", name="fill"),
    }
    assert set(collapsed(items, "search")) == {"a", "b"}
    assert all(not copies for copies in collapsed(items).values())


def test_the_same_text_under_another_name_is_another_thing():
    items = {"a": tool(LONG, name="fill"), "b": tool(LONG, name="complete")}
    assert set(collapsed(items, "search", LONG)) == {"a", "b"}


def test_copies_in_different_corpora_are_one_hit_too():
    same = {"fill": tool(LONG)}
    engine = engine_of(same, more=same)
    (hit,) = engine.discover(Query("fill a pdf form")).results
    assert len(hit.copies) == 1
