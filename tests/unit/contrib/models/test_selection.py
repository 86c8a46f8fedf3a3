"""A configured model takes part in the queries that may wait for it, and in no other."""

from dataclasses import replace

import pytest

from irclient.errors import Unavailable
from irdaemon.contrib.models.observer import ModelObserver
from irdaemon.engine.queue import Job
from irdaemon.runtime.model_endpoint import ModelEndpoint, RestingModel
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import engine
from tests.support.model_server import StandIn
from tests.support.searching import TOOLS, corpus_of

ANY = SelectSpec(min_score=None)
TEXT = "merge or fill a pdf"
LOCAL = ModelEndpoint("http://127.0.0.1:9/v1", "tiny")


def asked_with(model, items=TOOLS, **corpora):
    """Return an engine with a corpus by that model, and others without."""
    tools = replace(corpus_of(items), selector="llm")
    others = [corpus_of(items, name) for name, items in corpora.items()]
    made = engine(tools, *others, model=LOCAL)
    ModelObserver.find_in(made.state.addons).chooser = RestingModel(model)
    for name in made.corpora:
        made.request(Job("reconcile", name))
    made.drain()
    return made


def ids(answer):
    return [hit.artifact_id for hit in answer.results]


def test_the_model_chooses_among_the_hits_of_its_corpus():
    model = StandIn("merge\nfill")
    answer = asked_with(model).discover(Query(TEXT, select=ANY))
    assert (ids(answer), answer.reason) == (["merge", "fill"], "llm")
    assert f"Request: {TEXT}" in model.prompts[0]


def test_none_abstains_and_a_failure_is_the_heuristics_answer_with_its_reason():
    model = StandIn("none")
    made = asked_with(model)
    answer = made.discover(Query(TEXT, select=ANY))
    assert (answer.abstained, answer.reason) == (True, "llm:none")
    model.reply = Unavailable("it is down", "")
    fallen = made.discover(Query(TEXT, select=ANY))
    assert fallen.results
    assert "it is down" in fallen.signals["fallback"]


@pytest.mark.parametrize(
    "query",
    [
        Query(TEXT, select=ANY, budget_ms=50.0),
        Query(TEXT, select=SelectSpec("top_k", min_score=None)),
        Query(TEXT, select=ANY, corpora=("more",)),
    ],
)
def test_a_budget_another_strategy_or_another_corpus_asks_no_model(query):
    model = StandIn("merge")
    made = asked_with(model, more={"other": {"description": "Merge or fill a pdf"}})
    assert made.discover(query).results
    made.search(TEXT)
    assert model.prompts == []


def test_the_text_of_other_corpora_is_not_shown_to_the_model():
    model = StandIn("merge")
    made = asked_with(model, more={"other": {"description": "Merge or fill a pdf, elsewhere"}})
    made.discover(Query(TEXT, select=ANY))
    assert "elsewhere" not in model.prompts[0]


def test_a_misspelt_word_is_respelled_although_a_model_chooses():
    model = StandIn("split")
    geo = {"split": {"description": "Split a linestring where it crosses a line of geojson"}}
    made = asked_with(model, geo)
    answer = made.discover(Query("linestrng geojosn", mode="lexical", select=ANY))
    assert (ids(answer), answer.reason) == (["split"], "llm")
    assert "linestrng" in answer.signals["respelled"]


def test_the_time_of_a_model_is_not_counted_for_a_tier():
    made = asked_with(StandIn("merge"))
    made.discover(Query(TEXT, select=ANY))
    assert made.state.tiers._took == {}


@pytest.mark.parametrize(
    ("args", "may"),
    [
        ({}, True),
        ({"corpora": ["tools"]}, True),
        ({"corpora": ["more"]}, False),
        ({"budget_ms": 20}, False),
        ({"corpora": 3}, False),
        ({"corpora": [3]}, True),
    ],
)
def test_a_request_is_told_by_its_arguments_whether_it_may_wait_for_a_model(args, may):
    made = asked_with(StandIn("merge"), more={"other": {"description": "other"}})
    assert any(may_wait(args) for may_wait in made.hooks.may_wait) is may


def test_without_a_model_no_request_waits_for_one_and_none_is_told_of():
    made = engine(replace(corpus_of(TOOLS), selector="llm"))
    assert not any(may_wait({}) for may_wait in made.hooks.may_wait)
    assert "model" not in made.status()


def test_the_status_tells_of_the_model_where_it_is_and_what_failed():
    model = StandIn(Unavailable("it is down", ""))
    made = asked_with(model)
    made.discover(Query(TEXT, select=ANY))
    assert made.status()["model"] == {
        "endpoint": "http://127.0.0.1:9/v1",
        "model": "tiny",
        "local": True,
        "selects": ["tools"],
        "summarises": [],
        "problem": "it is down",
    }
