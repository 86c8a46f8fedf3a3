"""Floors that a corpus finds by itself, and how answers are held against them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.engine.queue import Job
from irdaemon.selection.calibrate import FEWEST_ARTIFACTS
from irdaemon.selection.floor import FORMULA, PLAIN, Strength, confidence_of
from irdaemon.strategy import Skill
from irdaemon.types import Floor, Query, SelectSpec, Usual
from tests.support.corpora import engine as built
from tests.support.corpora import mapped
from tests.unit.retrieve.test_ranking import engine_of, tool

THINGS = "pdf forms invoices kubernetes clusters camera lenses protein chains ledgers compilers"
DOINGS = "fill sign deploy rotate fold audit parse resize archive convert translate summarise"
TOOLS = {
    f"{doing}-{thing}": tool(f"Use this to {doing} {thing} of any kind, and to check the {thing}")
    for doing in DOINGS.split()
    for thing in THINGS.split()[:6]
}
FOREIGN = "what is the capital of australia"


def floor_with(**more):
    usual = Usual(0.2, 0.0, 0.1)
    plain = dict(
        mode="hybrid", embedder="e", recipe="r", dense=usual, lexical=Usual(1.0, 0.5, 0.5),
        at_least=0.5, j=0.8, n_inside=9, n_outside=9, calibrated_at=0.0, artifacts=9, last=9,
        formula=FORMULA,
    )  # fmt: skip
    return Floor(**{**plain, **more})


def test_confidence_rises_with_either_leg_and_falls_as_the_query_grows():
    floor = floor_with()
    usual = confidence_of(floor, Strength(0.2, 2, 1.0))
    assert confidence_of(floor, Strength(0.6, 2, 1.0)) > usual
    assert confidence_of(floor, Strength(0.2, 20, 1.0)) > usual
    assert confidence_of(floor, Strength(0.2, 2, 3.0)) < usual
    assert 0 <= confidence_of(floor, Strength(-9e9, 0, 9e9)) <= usual < 0.5


def test_what_the_embedder_does_not_know_is_judged_by_words_alone():
    floor = floor_with()
    near = confidence_of(floor, Strength(0.9, 2, 1.0, trust=0.0))
    assert near == confidence_of(floor, Strength(0.0, 2, 1.0, trust=0.0))


def test_a_floor_survives_plain_data():
    assert Floor.from_dict(floor_with().to_dict()) == floor_with()


@pytest.fixture(scope="module")
def engine():
    return engine_of(TOOLS)


def source(answer, corpus="tools"):
    return answer.signals["per_source"][corpus]


def test_a_corpus_calibrates_itself_and_abstains_on_what_it_does_not_hold(engine):
    answer = engine.discover(Query(FOREIGN))
    assert (answer.abstained, answer.reason) == (True, "below_floor")
    told = source(answer)
    assert (told["floor"]["kind"], told["passed"]) == ("auto", False)
    assert told["confidence"] < told["floor"]["at_least"]
    assert told["floor"]["n"] > 100
    assert told["floor"]["j"] >= 0.5


def test_what_it_does_hold_passes(engine):
    answer = engine.discover(Query("fill in my invoices"))
    assert [hit.name for hit in answer.results] == ["fill-invoices"]
    assert source(answer)["passed"]


def test_an_exact_name_passes_any_floor(engine):
    for floor in ("auto", 1.0):
        answer = engine.discover(Query("fold-camera", select=SelectSpec(min_score=floor)))
        assert [hit.name for hit in answer.results] == ["fold-camera"]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (Query(FOREIGN, select=SelectSpec(min_score=None)), "none: not asked for"),
        (Query(FOREIGN, select=SelectSpec(min_score=0.9)), "given"),
        (Query(FOREIGN, weights={"capability": 2}), "plain: surfaces are weighted"),
    ],
)
def test_every_answer_says_which_floor_it_used_or_why_none(engine, query, kind):
    assert source(engine.discover(query))["floor"]["kind"] == kind


@pytest.mark.parametrize("wrong", ["automatic", True, [], float("nan")])
def test_a_floor_that_is_neither_a_number_nor_auto_is_refused(engine, wrong):
    with pytest.raises(QueryError, match="min_score"):
        engine.discover(Query("pdf", select=SelectSpec(min_score=wrong)))


def test_a_corpus_of_a_few_artifacts_has_a_plain_floor_on_evidence():
    few = dict(list(TOOLS.items())[: FEWEST_ARTIFACTS - 1])
    made = engine_of(few)
    answer = made.discover(Query(FOREIGN))
    assert source(answer)["floor"] == {"kind": "plain: not calibrated", "at_least": PLAIN}
    assert (answer.abstained, answer.reason) == (True, "below_floor")
    name, tool = next(iter(few.items()))
    assert [hit.artifact_id for hit in made.discover(Query(tool["description"])).results] == [name]


def test_words_alone_have_no_plain_floor():
    answer = engine_of(dict(list(TOOLS.items())[:2])).search(Query(FOREIGN, mode="lexical"))
    assert "at_least" not in source(answer)["floor"]


def rebuilt(engine, corpus):
    engine.writer.publisher.set_corpora([corpus])
    engine.request(Job("reconcile", corpus.name))


def test_floors_are_kept_with_the_ledger_and_not_found_anew(tmp_path):
    path = str(tmp_path / "l.sqlite")
    first = built(mapped(TOOLS, "tools"), path=path)
    first.request(Job("reconcile", "tools"))
    first.drain()
    kept = first.snapshot.corpora["tools"].floors
    first.ledger.close()
    second = built(mapped(TOOLS, "tools"), path=path)
    assert second.snapshot.corpora["tools"].floors == kept != {}


def test_a_floor_of_another_recipe_or_formula_is_not_applied(tmp_path, monkeypatch):
    path = str(tmp_path / "l.sqlite")
    first = built(mapped(TOOLS, "tools"), path=path)
    first.request(Job("reconcile", "tools"))
    first.drain()
    first.ledger.close()
    other = built(mapped(TOOLS, "tools", Skill()), path=path)
    assert other.snapshot.corpora["tools"].floors == {}
    other.ledger.close()
    for user in ("floor", "calibrate"):
        monkeypatch.setattr(f"irdaemon.selection.{user}.FORMULA", FORMULA + 1)
    made = built(mapped(TOOLS, "tools"), path=path)
    assert source(made.discover(Query("fill a form")))["floor"]["kind"] == "plain: not calibrated"
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert {f.formula for f in made.snapshot.corpora["tools"].floors.values()} == {FORMULA + 1}


def test_a_floor_is_stale_once_the_corpus_has_drifted_and_is_found_anew():
    items = dict(TOOLS)
    engine = engine_of(items)
    before = engine.snapshot.corpora["tools"].floors["hybrid"]
    for number in range(len(TOOLS) // 3):
        items[f"new-{number}"] = tool(f"Brew number {number} of many kinds of tea")
    corpus = engine.corpora["tools"]
    corpus.source._items = items
    engine.request(Job("reconcile", "tools"))
    engine.step()  # the look alone
    assert engine.snapshot.corpora["tools"].floors == {}
    engine.drain()
    after = engine.snapshot.corpora["tools"].floors["hybrid"]
    assert after.artifacts == len(items) > before.artifacts


@settings(max_examples=5, deadline=None)
@given(st.permutations(list(TOOLS)))
def test_the_same_corpus_gives_the_same_floor_whatever_its_history(order):
    def figures(engine):
        floors = engine.snapshot.corpora["tools"].floors
        return {mode: (f.at_least, f.j, f.n_inside) for mode, f in floors.items()}

    assert figures(engine_of({name: TOOLS[name] for name in order})) == figures(engine_of(TOOLS))


# -- several corpora -----------------------------------------------------------------------------

COOKING = {
    f"{how}-{what}": tool(f"Recipes to {how} {what} at home, with times and quantities of {what}")
    for how in "bake roast steam grill fry".split()
    for what in "bread potatoes salmon carrots dumplings".split()
}


def test_each_corpus_is_gated_by_its_own_floor_before_anything_is_merged():
    engine = engine_of(TOOLS, cooking=COOKING)
    answer = engine.discover(Query("how do i bake bread"))
    assert {hit.corpus for hit in answer.results} == {"cooking"}
    assert (source(answer, "cooking")["passed"], source(answer)["passed"]) == (True, False)
    assert answer.n_retrieved <= source(answer, "cooking")["n_candidates"]


def test_a_given_floor_gates_each_corpus_too():
    engine = engine_of(TOOLS, cooking=COOKING)
    query = Query("how do i bake bread", select=SelectSpec("top_k", max_k=9, min_score=0.4))
    assert {hit.corpus for hit in engine.discover(query).results} == {"cooking"}


def test_search_shows_every_corpus_whatever_the_floors():
    engine = engine_of(TOOLS, cooking=COOKING)
    found = engine.search(Query("fill bread", k=50))
    assert {hit.corpus for hit in found.results} == {"tools", "cooking"}


# -- labelled cases ------------------------------------------------------------------------------


def labelled(path, inside, outside):
    rows = [{"query": f"fill in invoices {n}", "gold": "fill-invoices"} for n in range(inside)]
    rows += [{"query": f"how do i bake bread {n}"} for n in range(outside)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(("inside", "outside", "used"), [(20, 20, True), (20, 19, False)])
def test_labelled_queries_set_the_floor_where_there_are_enough(tmp_path, inside, outside, used):
    cases = labelled(tmp_path / "cases.jsonl", inside, outside)
    made = built(replace(mapped(TOOLS, "tools", Skill()), cases=cases))
    made.request(Job("reconcile", "tools"))
    made.drain()
    floor = made.snapshot.corpora["tools"].floors["hybrid"]
    assert floor.labelled == used
    assert (floor.n_inside == inside) == used
    assert source(made.discover(Query("fill in invoices")))["floor"]["labelled"] == used


def test_changed_labels_set_the_floor_anew_and_the_same_ones_do_not(tmp_path):
    path = tmp_path / "cases.jsonl"
    made = built(replace(mapped(TOOLS, "tools", Skill()), cases=labelled(path, 20, 20)))
    jobs = []
    made.state.notify = lambda topic, data: jobs.append(data.get("kind"))
    for size, calibrated in ((20, 1), (20, 1), (25, 2)):
        labelled(path, size, size)
        made.request(Job("reconcile", "tools"))
        made.drain()
        assert jobs.count("calibrate") == calibrated
    assert made.snapshot.corpora["tools"].floors["hybrid"].n_inside == 25


def test_a_file_of_labels_that_cannot_be_read_is_told_and_leaves_the_made_up_floor(tmp_path):
    told = []
    cases = tmp_path / "cases.jsonl"
    cases.write_text("{")
    made = built(
        replace(mapped(TOOLS, "tools", Skill()), cases=str(cases)),
        notify=lambda topic, data: told.append((topic, data)),
    )
    made.request(Job("reconcile", "tools"))
    made.drain()
    made.request(Job("reconcile", "tools"))
    made.drain()
    assert not made.snapshot.corpora["tools"].floors["hybrid"].labelled
    assert [data["kind"] for topic, data in told if topic == "job"].count("calibrate") == 1
    assert any(topic == "failure" and "cases.jsonl:1" in data["reason"] for topic, data in told)
