"""Retrievers over what this user built and what the daemon has."""

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError
from irclient.testing import FakeDaemon
from irclient.types import Hit, Selection
from irdaemon.library import built as registry

SERVED = Hit("skills", "deploy", "deploy", "capability", 0.9, {}, "Deploy the app", "", {})
ANSWER = Selection("", "hybrid", (SERVED,), False, "ranked", {}, 1, 1, 1, {}, 0.1)
STATUS = {"corpora": [{"name": "skills"}, {"name": "tools"}]}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(registry, "_by_name", {})
    monkeypatch.setenv("IRDAEMON_SOCKET", str(tmp_path / "no-daemon.sock"))
    items = {"pdf": {"description": "fill in pdf forms", "team": "docs"}, "csv": "clean up a csv"}
    built = ir.build(ir.CorpusSource.from_mapping(items, name="tools"), embedder="hashing")
    yield built
    built.close()


@pytest.fixture
def served(monkeypatch):
    with FakeDaemon({"status": STATUS, "search": ANSWER}) as daemon:
        monkeypatch.setenv("IRDAEMON_SOCKET", daemon.endpoint)
        yield daemon


def test_a_corpus_becomes_a_function_from_a_query_to_hits(tools):
    retrieve = ir.as_retriever(tools, mode="lexical", k=1)
    assert retrieve("pdf forms") == ir.search(tools, "pdf forms", mode="lexical", k=1)
    assert retrieve.corpus is tools


def test_a_keyword_of_the_call_overrides_a_default(tools):
    retrieve = ir.as_retriever("tools", k=1)
    assert len(retrieve("forms csv")) == 1
    assert len(retrieve("forms csv", k=5)) == 2
    assert [hit.name for hit in retrieve("csv", filter={"team": "docs"})] == ["pdf"]


def test_a_keyword_that_search_does_not_take_is_refused_at_once(tools):
    with pytest.raises(QueryError, match="search takes no 'mod'; did you mean 'mode'"):
        ir.as_retriever(tools, mod="lexical")
    with pytest.raises(QueryError, match="search takes no 'query'"):
        ir.as_retriever(tools, query="x")
    with pytest.raises(QueryError, match="search takes no 'limit'"):
        ir.as_retriever(tools)("pdf", limit=3)
    with pytest.raises(NotFound, match="no corpus 'nothing'"):
        ir.as_retriever("nothing")


def test_without_a_daemon_there_is_a_retriever_for_each_corpus_built_here(tools):
    every = ir.retrievers(k=1)
    assert list(every) == ["tools"]
    assert [hit.name for hit in every["tools"]("pdf forms")] == ["pdf"]
    assert "skills" not in every
    with pytest.raises(KeyError, match="no corpus 'skills'"):
        every["skills"]


def test_a_corpus_built_by_another_program_is_opened_when_it_is_asked_for(tools):
    tools.close()
    retrieve = ir.retrievers()["tools"]
    assert retrieve("pdf forms")[0].name == "pdf"
    retrieve.corpus.close()


def test_what_the_daemon_has_is_asked_of_the_daemon(tools, served):
    every = ir.retrievers(k=3)
    assert list(every) == ["skills", "tools"]
    assert every["skills"]("put it on a server", mode="lexical") == (SERVED,)
    (asked,) = [request for request in served.requests if request.op == "search"]
    assert (asked.args["corpora"], asked.args["k"]) == (["skills"], 3)
    assert asked.args["mode"] == "lexical"


def test_the_daemon_is_asked_from_the_place_that_is_given(tools, served):
    ir.retrievers()["skills"]("put it on a server", place="/code/shop")
    (asked,) = [request for request in served.requests if request.op == "search"]
    assert asked.args["place"] == "/code/shop"


def test_of_one_name_the_corpus_that_was_built_here_counts(tools, served):
    assert ir.retrievers()["tools"].corpus is tools


def test_hits_of_both_can_be_fused(tools, served):
    every = ir.retrievers(k=3)
    found = {name: retrieve("pdf forms") for name, retrieve in every.items()}
    assert {hit.corpus for hit in ir.fuse_hits(found)} == {"skills", "tools"}
