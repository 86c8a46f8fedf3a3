"""Numbers of the fusions and a reranker of one's own, call by call."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.searching import tool

TOOLS = {
    "a": tool("Merge pdf forms quickly"),
    "b": tool("Merge pdf forms quickly too"),
    "c": tool("Deploy cloud forms slowly"),
}
TEXT = "merge pdf forms"


@pytest.fixture
def tools():
    source = ir.CorpusSource.from_mapping(TOOLS, name="tools")
    built = ir.build(source, store=":memory:", embedder="hashing")
    yield built
    built.close()


def ids(hits):
    return [hit.artifact_id for hit in hits]


def test_a_function_reads_the_candidates_again_and_its_scores_are_their_evidence(tools):
    def prefers_cloud(query, texts):
        assert query == TEXT
        return [0.9 if "cloud" in text else 0.1 for text in texts]

    hits = ir.search(tools, TEXT, rerank=prefers_cloud)
    assert ids(hits)[0] == "c"
    assert hits[0].score == pytest.approx(0.9)
    answer = ir.discover([tools], TEXT, rerank=prefers_cloud, min_score=None)
    assert ids(answer.results) == ["c"]
    assert answer.tier == "rerank"


def test_a_floor_is_compared_with_what_the_function_gave(tools):
    answer = ir.discover(tools, TEXT, rerank=lambda query, texts: [0.2] * len(texts), min_score=0.5)
    assert (answer.abstained, answer.reason) == (True, "below_floor")


@pytest.mark.parametrize(
    "rerank",
    [
        "cross-encoder",
        lambda query, texts: [1.0],
        lambda query, texts: [7.5] * len(texts),
        lambda query, texts: [float("nan")] * len(texts),
        lambda query, texts: None,
        lambda query: [],
    ],
)
def test_what_is_no_reranker_is_refused(tools, rerank):
    with pytest.raises(QueryError, match="rerank"):
        ir.search(tools, TEXT, rerank=rerank)


def test_numbers_of_a_fusion_count_for_the_call(tools):
    words = ir.search(tools, TEXT, fusion="alpha", alpha=0.0)
    meaning = ir.search(tools, TEXT, fusion="alpha", alpha=1.0)
    assert words[0].scores["fused"] == pytest.approx(1.0)
    assert meaning[0].scores["fused"] == pytest.approx(meaning[0].scores["dense"], abs=0.06)
    steep = ir.search(tools, TEXT, fusion="rrf", rrf_k=1)
    flat = ir.search(tools, TEXT, fusion="rrf", rrf_k=1000)
    assert steep[0].scores["fused"] > 100 * flat[0].scores["fused"]


@pytest.mark.parametrize(
    "options", [{"alpha": 1.5}, {"alpha": True}, {"mmr_lambda": -1}, {"rrf_k": 0}, {"rrf_k": "60"}]
)
def test_a_number_out_of_its_range_is_refused(tools, options):
    (name,) = options
    with pytest.raises(QueryError, match=f"{name} must be a number"):
        ir.discover(tools, TEXT, **options)
