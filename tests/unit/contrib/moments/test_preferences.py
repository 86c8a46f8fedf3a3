"""What is muted is never offered, what is pinned comes first, and both are taken back."""

import pytest

from irclient.errors import Denied, NotFound, QueryError
from irdaemon.engine import Engine
from irdaemon.engine.queue import Job
from irdaemon.ledger import Ledger
from irdaemon.serve.access import Scope
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import engine, skills, write_skill
from tests.support.operations import ask
from tests.support.searching import MANY_TOOLS, TOOLS, corpus_of, engine_of, names, tool

ASKED = "fill in a pdf form"


def prefer(made, verdict, reference, **args):
    return ask(made, "prefer", reference=f"tools/{reference}", verdict=verdict, **args)


def offered(made, text=ASKED, **more):
    return names(made.discover(Query(text, **more)))


@pytest.fixture
def made():
    return engine_of(TOOLS)


def test_what_is_muted_is_not_offered_and_is_found_and_disclosed(made):
    assert offered(made) == ["fill"]
    prefer(made, "mute", "fill")
    assert offered(made) != ["fill"]
    found = made.search(Query(ASKED)).results
    assert found[0].name == "fill"
    assert [hit.fields.get("offers") for hit in found] == ["muted", *[None] * (len(found) - 1)]
    assert made.disclose(["tools/fill"])[0].body


def test_what_comes_next_is_measured_as_if_the_muted_item_were_not_there():
    without = engine_of({name: text for name, text in TOOLS.items() if name != "fill"})
    made = engine_of(TOOLS)
    prefer(made, "mute", "fill")
    for text in (ASKED, "merge pdf files", "fill", "deploy the pdf to the cloud"):
        assert offered(made, text) == offered(without, text)


def test_a_copy_of_what_is_muted_is_not_offered_either(tmp_path):
    for place in ("one", "two"):
        write_skill(tmp_path / place / "fill", "Fill a pdf form")
    made = engine(skills(tmp_path / "one", tmp_path / "two", name="tools"))
    made.request(Job("reconcile", "tools"))
    made.drain()
    (hit,) = made.discover(Query(ASKED)).results
    assert len(hit.duplicates) == 1
    prefer(made, "mute", hit.artifact_id)
    assert offered(made) == []


def test_taken_back_it_is_offered_as_before(made):
    for verdict in ("mute", "pin"):
        before = made.discover(Query(ASKED)).results
        prefer(made, verdict, "fill")
        prefer(made, f"un{verdict}", "fill")
        assert made.discover(Query(ASKED)).results == before
        assert ask(made, "preferences") == []


def test_to_take_back_what_is_not_so_is_an_error(made):
    prefer(made, "pin", "fill")
    with pytest.raises(NotFound, match="is not muted"):
        prefer(made, "unmute", "fill")
    with pytest.raises(NotFound):
        prefer(made, "mute", "nothing")
    with pytest.raises(QueryError, match="unknown verdict"):
        prefer(made, "hide", "fill")


def test_what_is_muted_and_then_pinned_is_pinned(made):
    prefer(made, "mute", "fill")
    prefer(made, "pin", "fill")
    assert offered(made) == ["fill"]
    (row,) = ask(made, "preferences")
    assert (row["reference"], row["verdict"], row["root"]) == ("tools/fill", "pinned", "")


def test_a_preference_holds_below_its_place_and_the_nearest_one_counts(made, tmp_path):
    below, other = str(tmp_path / "a" / "b"), str(tmp_path / "c")
    prefer(made, "mute", "fill", place=str(tmp_path / "a"), here=True)
    assert offered(made) == offered(made, place=other) == ["fill"]
    assert offered(made, place=str(tmp_path / "a")) == offered(made, place=below) != ["fill"]
    assert offered(made, place=str(tmp_path / "ab")) == ["fill"]
    prefer(made, "pin", "fill", place=below, here=True)
    assert offered(made, place=below) == ["fill"]
    assert offered(made, place=str(tmp_path / "a")) != ["fill"]


def test_a_pinned_item_comes_before_a_better_one():
    items = {"fill": tool("Fill a pdf form"), "filler": tool("Fill a pdf form quickly")}
    made = engine_of({**items, "deploy": TOOLS["deploy"]})
    first, *_ = offered(made)
    (second,) = set(items) - {first}
    prefer(made, "pin", second)
    assert offered(made, select=SelectSpec(max_k=3))[0] == second


def test_a_pinned_item_is_offered_below_the_floor_but_not_far_below():
    made = engine_of(MANY_TOOLS)
    made.request(Job("calibrate", "tools"))
    made.drain()
    outcomes = set()
    for text in ("please check the quilt", "plant fold quilt trellis"):
        answer = made.discover(Query(text))
        signals = answer.signals["per_source"]["tools"]
        assert answer.abstained
        is_near = signals["confidence"] >= signals["floor"]["at_least"] / 2
        best = made.search(Query(text)).results[0].artifact_id
        prefer(made, "pin", best)
        assert (offered(made, text)[:1] == [best]) == is_near
        prefer(made, "unpin", best)
        outcomes.add(is_near)
    assert outcomes == {True, False}


def test_a_prompt_without_a_task_is_offered_nothing_pinned(made):
    prefer(made, "pin", "fill")
    for text in ("yes", "thanks, go on", "ok"):
        assert offered(made, text) == []


def test_an_unlike_prompt_is_offered_nothing_pinned(made):
    prefer(made, "pin", "fill")
    assert offered(made, "deploy to the cloud") == ["deploy"]
    assert offered(made, "tune the harpsichord before the concert") == []


def test_what_is_wished_outlives_a_restart_a_rebuild_and_the_corpus(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    made = engine(corpus_of(TOOLS), path=path)
    made.request(Job("reconcile", "tools"))
    made.drain()
    prefer(made, "mute", "fill")
    made.ledger.corpora.forget("tools")
    made.ledger.close()
    again = engine(corpus_of(TOOLS), path=path)
    again.request(Job("reconcile", "tools"))
    again.drain()
    assert offered(again) != ["fill"]
    again.ledger.close()


def test_an_item_that_is_gone_is_unmuted_by_its_id_or_its_name():
    made = engine_of(dict(TOOLS))
    prefer(made, "mute", "fill")
    del made.corpora["tools"].source._items["fill"]
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert prefer(made, "unmute", "fill")["verdict"] == "muted"
    assert ask(made, "preferences") == []


def test_the_explanation_of_an_item_says_what_is_wished_of_it(made):
    prefer(made, "mute", "fill")
    explained = ask(made, "explain", text=ASKED, item="tools/fill")
    assert explained["item"]["offers"]["verdict"] == "mute"
    assert "offers" not in ask(made, "explain", text=ASKED, item="tools/merge")["item"]


def test_no_other_client_sees_or_sets_what_the_person_wants(made):
    other = Scope("other", corpora=None, levels=("metadata", "body"))
    for op, args in (("preferences", {}), ("prefer", {"reference": "tools/fill"})):
        with pytest.raises(Denied):
            ask(made, op, other, **args)


def test_without_the_addon_nothing_is_left_out(monkeypatch):
    monkeypatch.setenv("IRDAEMON_ADDONS_LEFT_OUT", "moments")
    made = Engine(Ledger(":memory:"), (corpus_of(TOOLS),))
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert offered(made) == ["fill"]
