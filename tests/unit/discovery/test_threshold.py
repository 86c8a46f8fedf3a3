"""Which threshold an answer of one corpus has to reach, and whether it does."""

from dataclasses import replace

import pytest

from irclient.errors import QueryError
from irdaemon.discovery.decide import apply_floor
from irdaemon.discovery.decision import FEWEST_ARTIFACTS, FORMULA, LEAST
from irdaemon.discovery.legs import Question
from irdaemon.discovery.retrieve import retrieve
from irdaemon.discovery.where import NO_FILTER
from irdaemon.embed import embed_query
from irdaemon.embed.hashing import Hashing
from irdaemon.index import CorpusIndex
from irdaemon.text import tokenize
from irdaemon.types import Query, SelectSpec
from tests.support.searching import MANY_TOOLS, engine_of, tool
from tests.support.searching import MANY_TOOLS as TOOLS

INSIDE = "fill in my invoices"
FOREIGN = "what is the capital of australia"


@pytest.fixture(scope="module")
def snapshot():
    return engine_of(MANY_TOOLS).snapshot


@pytest.fixture
def index(snapshot):
    return snapshot.corpora["tools"]


@pytest.fixture
def held(snapshot):
    """Return the gate's word on a query, asked of an index."""

    def hold(index: CorpusIndex, text: str, mode="lexical", **spec):
        known, tokens = snapshot.vocabulary, list(dict.fromkeys(tokenize(text)))
        terms = tuple(known[token] for token in tokens if token in known)
        vector = embed_query(Hashing(), text).vector if mode != "lexical" else None
        unknown = len(tokens) - len(terms)
        question = Question(text, terms, vector, mode, 5, NO_FILTER, frozenset(), unknown=unknown)
        weights = spec.pop("weights", {})
        query = Query(text, mode=mode, weights=weights, select=SelectSpec(**spec))
        return apply_floor(index, question, retrieve(index, question), query)

    return hold


def floor_of(index, **changed):
    """Return the index with another floor of the words."""
    floors = {**index.floors, "lexical": replace(index.floors["lexical"], **changed)}
    return replace(index, floors=floors)


def test_a_calibrated_floor_lets_through_what_the_corpus_answers_and_holds_back_the_rest(
    held, index
):
    inside, foreign = (held(index, text, mode="hybrid") for text in (INSIDE, FOREIGN))
    assert (inside.above_floor, foreign.above_floor) == (True, False)
    assert inside.top_score >= inside.floor.at_least > foreign.top_score
    assert inside.describe()["floor"]["kind"] == "auto"


def test_where_none_is_asked_for_all_pass(held, index):
    source = held(index, FOREIGN, min_score=None)
    assert source.above_floor
    assert source.describe()["floor"] == {"kind": "none: not asked for"}


@pytest.mark.parametrize(("at_least", "passed"), [(0.0, True), (1.0, False)])
def test_a_given_number_is_asked_of_the_best_score(held, index, at_least, passed):
    source = held(index, INSIDE, min_score=at_least)
    assert source.above_floor == passed
    assert source.describe()["floor"]["kind"] == "given"


def test_what_is_called_by_its_name_passes_whatever_is_asked(held, index):
    assert held(index, "fold-camera", min_score=1.0).above_floor
    assert held(floor_of(index, at_least=1.0), "fold-camera").above_floor
    assert not held(floor_of(index, at_least=1.0), INSIDE).above_floor


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"j": 0.49}, "plain: its own separates badly (J 0.49)"),
        ({"formula": FORMULA + 1}, "plain: not calibrated"),
    ],
)
def test_a_floor_that_separates_badly_or_is_of_another_formula_is_not_applied(
    held, index, changed, why
):
    source = held(floor_of(index, **changed), FOREIGN)
    assert (source.floor, source.why, source.least) == (None, why, LEAST)


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
    ],
)
def test_every_answer_names_the_floor_it_used_or_why_none(engine, query, kind):
    assert source(engine.discover(query))["floor"]["kind"] == kind


def test_weights_of_surfaces_change_no_score_and_so_no_floor(engine):
    plain, weighted = (
        engine.search(Query("fill in my invoices", weights=weights)).results[0]
        for weights in ({}, {"capability": 2})
    )
    assert (plain.artifact_id, plain.score) == (weighted.artifact_id, weighted.score)
    assert plain.scores["fused"] != weighted.scores["fused"]


@pytest.mark.parametrize("wrong", ["automatic", True, [], float("nan")])
def test_a_floor_that_is_neither_a_number_nor_auto_is_refused(engine, wrong):
    with pytest.raises(QueryError, match="min_score"):
        engine.discover(Query("pdf", select=SelectSpec(min_score=wrong)))


def test_a_corpus_of_a_few_artifacts_has_the_usual_floor():
    few = dict(list(TOOLS.items())[: FEWEST_ARTIFACTS - 1])
    made = engine_of(few)
    answer = made.discover(Query(FOREIGN))
    assert source(answer)["floor"] == {"kind": "plain: not calibrated", "at_least": LEAST}
    assert (answer.abstained, answer.reason) == (True, "below_floor")
    name, tool = next(iter(few.items()))
    assert made.discover(Query(tool["description"])).results[0].artifact_id == name


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


# -- identifiers, corpora that are not ready -----------------------------------------------------

RULES = {"cutoffs": tool("Screening of molecules", text="apply rule_of_leadlike_strict to all")}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what is behind rule_of_leadlike_strict", ["cutoffs"]),
        ("why does `screening` take so long", ["cutoffs"]),
        ("molecules", ["cutoffs"]),
        ("what is the capital of australia", []),
    ],
)
def test_an_identifier_that_few_records_hold_is_above_the_floor(text, found):
    answer = engine_of({**TOOLS, **RULES}).discover(Query(text))
    assert [hit.artifact_id for hit in answer.results] == found


def test_the_usual_floor_holds_for_a_corpus_that_is_still_building(held, index):
    building = replace(index, floors={}, last_reconcile=None)
    source = held(building, FOREIGN, mode="hybrid")
    assert (source.why, source.least) == ("plain: still building", LEAST)
    assert not source.above_floor


def test_what_is_called_by_its_name_and_filtered_out_lets_nothing_else_through():
    engine = engine_of({**TOOLS, "cake": tool("Bake bread", team="kitchen")})
    answer = engine.discover(Query("fold-camera", where={"team": "kitchen"}))
    assert (answer.abstained, answer.results) == (True, ())
