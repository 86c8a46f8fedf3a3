"""A query in several wordings, through the library."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.built import hold
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


# -- together with what else a search takes --------------------------------------------------------

PACKAGES = {
    "ship": {"name": "ship", "description": "allusions in documents", "deps": ["harbour", "i2"]},
    "chart": {"name": "chart", "description": "draw a harbour chart for pilots", "deps": ["dol"]},
    "map": {"name": "map", "description": "a chart of the coast", "deps": []},
}


def charts(query):
    return [query, f"{query} of a coast"]


@pytest.fixture
def packages():
    strategy = ir.Package(embed_deps=True)
    with hold(PACKAGES, name="packages", strategy=strategy) as made:
        yield made


class Reading:
    """A reranker that keeps the queries and texts it was given."""

    def __init__(self):
        self.queries, self.texts = [], []

    def __call__(self, query, texts):
        self.queries.append(query)
        self.texts.extend(texts)
        return [0.5] * len(texts)


@pytest.mark.parametrize("wording", [both, lambda query: "bake a cake", lambda query: []])
def test_a_reranker_judges_by_the_query_itself_and_reads_no_text_twice(docs, wording):
    reading = Reading()
    assert ir.search(docs, "asked", k=1, formulate=wording, rerank=reading)
    assert set(reading.queries) == {"asked"}
    assert len(reading.texts) == len(set(reading.texts)) > 1
    again = Reading()
    ir.discover(docs, "asked", formulate=wording, rerank=again, min_score=None)
    assert set(again.queries) == {"asked"}


def test_wordings_that_find_the_same_are_reranked_by_one_call_of_all_candidates(docs):
    reading = Reading()
    ir.search(docs, "deploy", k=1, formulate=lambda q: [q, f"{q} it"], rerank=reading, mode="dense")
    assert (len(reading.queries), len(reading.texts)) == (1, len(DOCS))


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_weights_of_surfaces_count_in_every_wording(packages, mode):
    asked = {"k": 1, "mode": mode, "formulate": charts}
    (plain,) = ir.search(packages, "harbour chart", **asked)
    (first,) = ir.search(packages, "harbour chart", surface_weights={"deps": 100.0}, **asked)
    assert plain.artifact_id != "ship"
    assert (first.artifact_id, first.kind) == ("ship", "deps")


def test_a_boost_is_added_once_however_many_wordings_find_an_artifact(packages):
    boost = ir.dependency_evidence_boost({"harbour"}, weight=1.0)
    plain = {h.artifact_id: h.score for h in ir.search(packages, "chart", formulate=charts)}
    boosted = ir.search(packages, "chart", formulate=charts, dep_boost=boost)
    for hit in boosted:
        extra = 1.0 if hit.artifact_id == "ship" else 0.0
        assert hit.score == pytest.approx(plain[hit.artifact_id] + extra, abs=1e-3)
    assert boosted[0].artifact_id == "ship"


def test_passages_of_one_artifact_stay_apart_where_they_are_asked_for(packages):
    hits = ir.search(packages, "harbour chart", formulate=charts, per_artifact=False)
    found = [(hit.artifact_id, hit.kind) for hit in hits]
    assert {("ship", "description"), ("ship", "deps")} <= set(found)
    assert len(found) == len(set(found))
