"""Discover as a tool of an agent."""

import inspect
import json

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.built import hold

DOCS = {
    "deploy": "put the app on the server with systemd units",
    "embed": "turn text into vectors with a model",
    "filter": "find vectors of those with some metadata",
}
TEXT = "put the app on the server"


@pytest.fixture
def corpus():
    with hold(DOCS, name="my-docs") as made:
        yield made


def ids(answer):
    return [hit["artifact_id"] for hit in answer["results"]]


def prefers_filter(query, texts):
    return [0.9 if "metadata" in text else 0.1 for text in texts]


def test_a_search_gives_the_answer_of_discover_as_plain_data(corpus):
    answer = ir.tools.search(TEXT, corpus=corpus, k=2)
    assert json.loads(json.dumps(answer))["results"]
    assert ids(answer) == [hit.artifact_id for hit in ir.discover(corpus, TEXT, k=2).results]
    assert ir.tools.search("quark", corpus=corpus, mode="lexical")["abstained"]


def test_a_bound_tool_has_a_name_and_a_description_and_takes_a_query(corpus):
    tool = ir.make_search(corpus, name="demo corpus!")
    assert tool.__name__ == "search_demo_corpus"
    assert "demo corpus!" in tool.__doc__
    assert ids(tool(TEXT)) == ["deploy"]
    assert json.dumps(tool(TEXT, k=1))
    assert list(inspect.signature(tool).parameters) == ["query", "k"]


def test_a_bound_tool_is_called_like_its_corpus_unless_it_is_named(corpus):
    assert ir.make_search(corpus).__name__ == "search_my_docs"
    assert ir.make_search("my-docs", description="Say so.").__doc__ == "Say so."
    assert ir.make_search([corpus, "other"]).__name__ == "search_my_docs_other"
    assert ir.make_search(corpus, name="!").__name__ == "search_corpus"


def test_both_have_names_of_the_library(corpus):
    assert ir.search_tool is ir.tools.search
    assert ir.make_search is ir.tools.make_search


def test_a_reranker_is_passed_on_and_none_is_used_by_default(corpus):
    asked = {"k": 3, "mode": "dense"}
    plain = ir.tools.search(TEXT, corpus=corpus, **asked)
    again = ir.tools.search(TEXT, corpus=corpus, rerank=prefers_filter, **asked)
    assert (ids(plain)[0], ids(again)[0]) == ("deploy", "filter")
    bound = ir.make_search(corpus, mode="dense", rerank=prefers_filter)
    assert ids(bound(TEXT, k=3)) == ids(again)
    with pytest.raises(QueryError, match="unknown rerank_text"):
        ir.make_search(corpus, rerank=prefers_filter, rerank_text="x")(TEXT)
