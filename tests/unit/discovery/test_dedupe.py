"""Duplicates are one hit: exact ones everywhere, near ones before selection."""

from dataclasses import replace

from irdaemon.engine.queue import Job
from irdaemon.strategy import Skill
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import engine, skills, write_skill
from tests.support.searching import engine_of, tool

LONG = "Fill a pdf form with data from a table, check it, sign it, and flatten the result"


def collapsed(items, call="discover", query="fill a pdf form"):
    answer = getattr(engine_of(items), call)(Query(query))
    return {hit.artifact_id: set(hit.duplicates) for hit in answer.results}


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
    assert all(not others for others in collapsed(items).values())


def test_the_same_text_under_another_name_is_another_thing():
    items = {"a": tool(LONG, name="fill"), "b": tool(LONG, name="complete")}
    assert set(collapsed(items, "search", LONG)) == {"a", "b"}


def test_duplicates_in_different_corpora_are_one_hit_too():
    same = {"fill": tool(LONG)}
    engine = engine_of(same, more=same)
    (hit,) = engine.discover(Query("fill a pdf form")).results
    assert len(hit.duplicates) == 1


OTHERS = {
    "deploy": tool("Deploy the web application to production and roll it back", author="b"),
    "rollout": tool("Roll a release out to production servers step by step", author="c"),
    "tests": tool("Run the tests of a project and explain what fails", author="d"),
}
BOAST = "Deploy any web application to production, roll back, release, ship and run all servers"


def boasts(author, n=30):
    """Return clones of one item that differ in their names and two words."""
    more = "quickly safely boldly neatly gently".split()
    return {
        f"helper-{k}": tool(f"{BOAST} {more[k % 5]} number{k}", author=author) for k in range(n)
    }


def offered(items, query="roll the production deployment of the web application back"):
    answer = engine_of(items).discover(Query(query, select=SelectSpec("top_k", min_score=None)))
    return [hit.artifact_id for hit in answer.results]


def test_thirty_clones_of_one_author_take_one_place():
    places = offered({**boasts("one"), **OTHERS})
    assert len(places) == 3
    assert sum(each.startswith("helper") for each in places) == 1


def test_clones_of_several_authors_are_several_voices():
    items = {id: {**item, "author": id} for id, item in boasts("").items()}
    assert sum(each.startswith("helper") for each in offered({**items, **OTHERS})) > 1


def test_what_lies_in_one_directory_is_of_one_voice(tmp_path):
    for id, item in {**boasts(""), **OTHERS}.items():
        write_skill(tmp_path / id, f"{id} {item['description']}")
    made = engine(skills(tmp_path, strategy=Skill()))
    made.request(Job("reconcile", "s"))
    made.drain()
    spec = SelectSpec("top_k", min_score=None)
    results = made.discover(Query("roll the production deployment back", select=spec)).results
    assert len(results) == 3
    assert sum("/helper" in hit.pointer for hit in results) == 1


def test_alike_items_stay_apart_where_the_query_tells_them_apart():
    asked = "automate tasks through the connector with schema search and session handling in {}"
    items = {
        name: tool(asked.format(name) + f" ({name})", author="one")
        for name in ("salesforce", "hubspot", "jira", "slack")
    }
    assert set(offered(items, "copy hubspot contacts to salesforce")[:2]) == {
        "salesforce",
        "hubspot",
    }


def test_turns_of_a_session_take_one_place_and_a_search_lists_them_all():
    turns = {
        f"turn-{n}": tool(f"{said} the invoices of the tax office", session_id=session)
        for n, (said, session) in enumerate(
            [("merge", "A"), ("split", "A"), ("sort", "A"), ("scan", "B")]
        )
    }
    made = engine_of(turns)
    asked = Query("invoices of the tax office", select=SelectSpec("top_k", min_score=None))
    sessions = [hit.fields["session_id"] for hit in made.discover(asked).results]
    assert sorted(sessions) == ["A", "B"]
    assert len(made.search(asked).results) == 4
    of_one = replace(asked, where={"session_id": "A"})
    assert len(made.discover(of_one).results) == 3
