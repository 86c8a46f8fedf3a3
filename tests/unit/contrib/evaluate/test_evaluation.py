"""What an evaluation of an engine's corpora has, and what calibrating by labelled cases does."""

import pytest

from irclient.errors import NotFound, QueryError
from irclient.results import Evaluation
from irdaemon.contrib.evaluate.choice import Grid
from irdaemon.contrib.evaluate.evaluation import EvaluationRequest, evaluate_corpora
from irdaemon.discovery.cases import Case
from irdaemon.engine.queue import Job
from irdaemon.types import Query
from tests.support.searching import MANY_TOOLS, engine_of, tool
from tests.support.serving import run

ABOUT_THE_HOUSE = """baking brewing painting dusting singing knitting whistling gardening cooking
sweeping mowing raking planting watering pruning digging weeding sleeping reading talking laughing
running jumping""".split()
CASES = [Case("fill in a pdf form", ("fill",)), Case("deploy", ("deploy",)), Case("bake bread")]


@pytest.fixture
def tools():
    return engine_of({"fill": tool("Fill a pdf form"), "deploy": tool("Deploy to the cloud")})


def test_every_case_is_told_with_its_ranking_and_its_measures(tools):
    told = evaluate_corpora(tools, CASES, Query(""))
    first, _, last = told["cases"]
    assert (first["id"], first["rank"], first["ranked"][0]) == ("q00000", 1, "fill")
    assert first["measures"]["ndcg@10"] == 1.0
    assert (last["gold"], last["measures"]) == ({}, {})
    assert (told["artifacts"], told["generation"]) == (2, tools.snapshot.generation)
    assert Evaluation.from_dict(told).to_dict().keys() == told.keys()


def test_a_baseline_is_compared_query_by_query(tools):
    told = evaluate_corpora(tools, CASES, Query(""), EvaluationRequest(baseline=True))
    assert told["baseline"]["recall@10"] == 1.0
    assert (told["compared"]["measure"], told["compared"]["n"]) == ("ndcg@10", 2)


def test_the_curve_begins_at_1_and_ends_with_the_whole_catalogue(tools):
    told = evaluate_corpora(tools, CASES, Query("", k=1), EvaluationRequest(curve=True))
    assert told["curve"] == [{"size": 1, "first": 1.0}, {"size": 2, "first": 1.0}]
    assert "curve" not in evaluate_corpora(tools, CASES, Query(""))


def test_a_grid_is_what_the_sweep_tries(tools):
    told = evaluate_corpora(tools, CASES, Query(""), EvaluationRequest(grid=Grid((1, 2), (0.5,))))
    assert [(cell["max_k"], cell["rel"]) for cell in told["sweep"]] == [(1, 0.5), (2, 0.5)]


def test_an_event_tells_how_many_cases_were_asked(tools):
    told = []
    tools.state.notify = lambda topic, data: told.append((topic, data))
    evaluate_corpora(tools, CASES, Query(""))
    assert told[-1] == ("evaluation", {"done": 3, "todo": 3})


def test_a_query_that_cannot_be_asked_is_refused_before_the_first_case(tools):
    with pytest.raises(QueryError, match="k must be"):
        evaluate_corpora(tools, CASES, Query("", k=0))
    with pytest.raises(NotFound):
        evaluate_corpora(tools, CASES, Query("", corpora=("toolz",)))


def test_more_candidates_than_artifacts_are_no_error(tools):
    told = evaluate_corpora(tools, CASES, Query("", k=1_000))
    assert told["discovery"]["measures"]["recall@10"] == 1.0


def test_an_evaluation_is_kept_only_by_who_says_so(tools):
    evaluate_corpora(tools, CASES, Query(""))
    with pytest.raises(NotFound, match="no evaluation of corpus"):
        run("evaluation", tools, {"corpus": next(iter(tools.corpora))})
    with pytest.raises(NotFound):
        run("evaluation", tools, {"corpus": "toolz"})


# -- calibration by labels -------------------------------------------------------------------------

LABELLED = [
    *(Case(f"{name.replace('-', ' ')} of any kind", (name,)) for name in list(MANY_TOOLS)[:25]),
    *(Case(f"{each} in the garden on a sunny day") for each in ABOUT_THE_HOUSE),
]


def test_labelled_cases_set_the_floors_of_a_corpus():
    made = engine_of(MANY_TOOLS)
    made.calibrate("tools", LABELLED)
    made.drain()
    floors = made.ledger.corpora.read_floors("tools")
    assert floors.keys() == {"hybrid", "dense", "lexical"}
    assert all(floor.labelled and floor.n_inside == 25 for floor in floors.values())
    assert made.state.labels == {}


def test_cases_that_a_calibration_took_are_not_taken_again():
    made = engine_of(MANY_TOOLS)
    made.calibrate("tools", LABELLED)
    made.drain()
    made.request(Job("calibrate", "tools"))
    made.drain()
    assert not made.ledger.corpora.read_floors("tools")["hybrid"].labelled


def test_too_few_cases_of_a_class_or_too_small_a_corpus_are_refused(tools):
    made = engine_of(MANY_TOOLS)
    with pytest.raises(QueryError, match="25 answerable and 0 unanswerable"):
        made.calibrate("tools", LABELLED[:25])
    with pytest.raises(QueryError, match="too small for a floor: 2 artifacts"):
        tools.calibrate("tools", LABELLED)
    with pytest.raises(NotFound):
        made.calibrate("toolz", LABELLED)
