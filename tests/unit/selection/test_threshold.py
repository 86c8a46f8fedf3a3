"""Each corpus is compared with a floor of its own before anything is merged."""

import pytest

from irclient.errors import QueryError
from irdaemon.selection.calibrate import FEWEST_ARTIFACTS
from irdaemon.selection.floor import PLAIN
from irdaemon.types import Query, SelectSpec
from tests.support.searching import MANY_TOOLS as TOOLS
from tests.support.searching import engine_of, tool

FOREIGN = "what is the capital of australia"


@pytest.fixture(scope="module")
def engine():
    return engine_of(TOOLS)


def source(answer, corpus="tools"):
    return answer.signals["per_source"][corpus]


def test_a_corpus_calibrates_itself_and_abstains_on_what_it_does_not_hold(engine):
    answer = engine.discover(Query(FOREIGN))
    assert (answer.abstained, answer.reason) == (True, "below_floor")
    found = source(answer)
    assert (found["floor"]["kind"], found["above_floor"]) == ("auto", False)
    assert found["confidence"] < found["floor"]["at_least"]
    assert found["floor"]["n"] > 100
    assert found["floor"]["j"] >= 0.5


def test_what_it_does_hold_is_above_its_floor(engine):
    answer = engine.discover(Query("fill in my invoices"))
    assert [hit.name for hit in answer.results] == ["fill-invoices"]
    assert source(answer)["above_floor"]


def test_an_exact_name_is_above_any_floor(engine):
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
def test_every_answer_names_the_floor_it_used_or_why_none(engine, query, kind):
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


COOKING = {
    f"{how}-{what}": tool(f"Recipes to {how} {what} at home, with times and quantities of {what}")
    for how in "bake roast steam grill fry".split()
    for what in "bread potatoes salmon carrots dumplings".split()
}


def test_each_corpus_is_held_to_its_own_floor_before_anything_is_merged():
    engine = engine_of(TOOLS, cooking=COOKING)
    answer = engine.discover(Query("how do i bake bread"))
    assert {hit.corpus for hit in answer.results} == {"cooking"}
    above = [source(answer, corpus)["above_floor"] for corpus in ("cooking", "tools")]
    assert above == [True, False]
    assert answer.n_retrieved <= source(answer, "cooking")["n_candidates"]


def test_a_given_floor_holds_for_each_corpus_too():
    engine = engine_of(TOOLS, cooking=COOKING)
    query = Query("how do i bake bread", select=SelectSpec("top_k", max_k=9, min_score=0.4))
    assert {hit.corpus for hit in engine.discover(query).results} == {"cooking"}


def test_search_shows_every_corpus_whatever_the_floors():
    engine = engine_of(TOOLS, cooking=COOKING)
    found = engine.search(Query("fill bread", k=50))
    assert {hit.corpus for hit in found.results} == {"tools", "cooking"}
