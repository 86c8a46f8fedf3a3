"""A query in several wordings, through the library."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.searching import MANY_TOOLS, tool

DOCS = {
    "deploy": tool("Deploy the app to a server"),
    "bake": tool("Bake a cake in the oven"),
    "vector": tool("Find similar vectors under filters"),
}


@pytest.fixture(params=["hashing"])
def docs(request):
    source = ir.CorpusSource.from_mapping(DOCS, name="docs")
    built = ir.build(source, store=":memory:", embedder=request.param)
    yield built
    built.close()


def ids(hits):
    return [hit.artifact_id for hit in hits]


def test_the_query_itself_as_its_wording_changes_nothing(docs):
    plain = ir.search(docs, "deploy the app")
    assert ir.search(docs, "deploy the app", formulate=lambda query: query) == plain
    assert ir.search(docs, "deploy the app", formulate=lambda query: []) == plain


def test_another_wording_finds_what_it_says_and_the_answer_names_the_query(docs):
    hits = ir.search(docs, "zzz", formulate=lambda query: "bake a cake", k=1)
    assert ids(hits) == ["bake"]
    answer = ir.discover(docs, "zzz", formulate=lambda query: "bake a cake", min_score=None)
    assert (ids(answer.results), answer.query) == (["bake"], "zzz")


def both(query):
    return ["deploy the app to a server", "find similar vectors"]


def test_what_any_wording_finds_is_found_each_artifact_at_its_best_evidence(docs):
    hits = ir.search(docs, "zzz", formulate=both)
    assert set(ids(hits)[:2]) == {"deploy", "vector"}
    assert len(ids(hits)) == len(set(ids(hits)))
    alone = {hit.artifact_id: hit.score for q in both("") for hit in ir.search(docs, q)[:1]}
    assert {hit.artifact_id: hit.score for hit in hits[:2]} == alone
    assert ids(ir.search(docs, "zzz", formulate=both, k=1)) == ids(hits)[:1]


def test_an_answer_selects_among_what_all_wordings_found(docs):
    answer = ir.discover(docs, "zzz", formulate=both, strategy="top_k", max_k=2, min_score=None)
    assert set(ids(answer.results)) == {"deploy", "vector"}
    assert answer.signals["wordings"] == both("")
    assert (answer.query, answer.n_selected, answer.reason) == ("zzz", 2, "top_k")
    last = ir.discover(docs, "zzz", formulate=both, strategy=lambda hits: hits[1:2], min_score=None)
    assert (len(last.results), last.reason) == (1, "custom")


def test_a_floor_holds_for_each_wording():
    source = ir.CorpusSource.from_mapping(MANY_TOOLS, name="many")
    many = ir.build(source, store=":memory:", embedder="hashing")
    answer = ir.discover(many, "zzz", formulate=lambda q: ["unknown moon", "purple rain"])
    assert (answer.abstained, answer.results) == (True, ())
    answer = ir.discover(many, "zzz", formulate=lambda q: ["unknown moon", "rotate kubernetes"])
    assert "rotate-kubernetes" in ids(answer.results)
    given = ir.discover(many, "zzz", formulate=lambda q: ["fold pdf", "sign pdf"], min_score=1.0)
    assert (given.abstained, given.reason) == (True, "below_floor")
    many.close()


def test_several_corpora_are_asked_in_each_wording(docs):
    source = ir.CorpusSource.from_mapping({"other": tool("Find similar pictures")}, name="more")
    more = ir.build(source, store=":memory:", embedder="hashing")
    hits = ir.search([docs, more], "zzz", formulate=both)
    assert {"deploy", "vector", "other"} <= set(ids(hits))
    assert ir.disclose(hits[:1], level="metadata")[0].artifact_id == hits[0].artifact_id
    more.close()


def test_what_is_no_wording_is_refused(docs):
    with pytest.raises(QueryError, match="formulate must return"):
        ir.search(docs, "zzz", formulate=lambda query: 3)
