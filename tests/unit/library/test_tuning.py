"""Numbers of the fusions, of BM25, and of how much is fetched, call by call."""

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.built import build_mapping, hold
from tests.support.searching import tool

TOOLS = {
    "a": tool("Merge pdf forms quickly"),
    "b": tool("Merge pdf forms quickly too"),
    "c": tool("Deploy cloud forms slowly"),
}
NOTES = {
    "once": {"text": "caddy"},
    "often": {"text": "caddy caddy caddy caddy and of the many other words that a long note has"},
    "other": {"text": "bake bread in the oven"},
}
TEXT = "merge pdf forms"


@pytest.fixture
def tools():
    with hold(TOOLS) as made:
        yield made


@pytest.fixture
def notes():
    with hold(NOTES, strategy=ir.WholeText()) as made:
        yield made


def test_numbers_of_a_fusion_count_for_the_call(tools):
    words = ir.search(tools, TEXT, fusion="alpha", alpha=0.0)
    meaning = ir.search(tools, TEXT, fusion="alpha", alpha=1.0)
    assert words[0].scores["fused"] == pytest.approx(1.0)
    assert meaning[0].scores["fused"] == pytest.approx(meaning[0].scores["dense"], abs=0.06)
    steep = ir.search(tools, TEXT, fusion="rrf", rrf_k=1)
    flat = ir.search(tools, TEXT, fusion="rrf", rrf_k=1000)
    assert steep[0].scores["fused"] > 100 * flat[0].scores["fused"]


def lexical(corpus, **more):
    hits = ir.search(corpus, "caddy", mode="lexical", **more)
    return {hit.artifact_id: hit.scores["lexical"] for hit in hits}


def test_numbers_of_bm25_count_for_the_call_and_what_is_left_out_is_as_usual(notes):
    plain = lexical(notes)
    assert lexical(notes, bm25={"k1": 1.5, "b": 0.75}) == lexical(notes, bm25={}) == plain
    without_length = lexical(notes, bm25={"b": 0})
    assert without_length["often"] > plain["often"]
    by_presence = lexical(notes, bm25={"k1": 0})
    assert by_presence["once"] == pytest.approx(by_presence["often"])
    # Four of a word, at the numbers of the formula: idf * 4 * (k1 + 1) / (4 + k1).
    assert without_length["often"] == pytest.approx(by_presence["often"] * 4 * 2.5 / 5.5, abs=1e-3)


def test_only_so_many_records_of_each_leg_are_fetched_as_the_call_says(tools):
    for mode in ("lexical", "dense"):
        (hit,) = ir.search(tools, "deploy cloud forms", mode=mode, fetch_k=1)
        assert hit.artifact_id == "c"
        for fetch_k in (None, 10_000):
            assert len(ir.search(tools, "deploy cloud forms", mode=mode, fetch_k=fetch_k)) == 3


def test_a_reranker_reads_as_many_candidates_as_are_fetched(tools):
    sizes = []

    def read(query, texts):
        sizes.append(len(texts))
        return [0.5] * len(texts)

    for per_artifact in (True, False):
        assert len(ir.search(tools, TEXT, k=1, rerank=read, per_artifact=per_artifact)) == 1
        assert sizes.pop() > 1
    ir.search(tools, TEXT, k=1, rerank=read, fetch_k=2)
    assert sizes == [2]


def test_a_weight_acts_before_the_best_are_taken_from_what_was_fetched():
    items = {
        "ship": {"name": "ship", "description": "allusions in documents", "deps": ["harbour"]},
        "chart": {"name": "chart", "description": "draw a harbour chart for harbour pilots"},
        "map": {"name": "map", "description": "a chart of the harbour"},
    }
    made = build_mapping(items, strategy=ir.Package(embed_deps=True))
    asked = {"k": 2, "mode": "hybrid", "per_artifact": False, "fetch_k": 3}
    plain = ir.search(made, "harbour chart", **asked)
    assert "deps" not in {hit.kind for hit in plain}
    (first, *_) = ir.search(made, "harbour chart", surface_weights={"deps": 10.0}, **asked)
    assert (first.artifact_id, first.kind) == ("ship", "deps")


@pytest.mark.parametrize(
    "options", [{"alpha": 1.5}, {"alpha": True}, {"mmr_lambda": -1}, {"rrf_k": 0}, {"rrf_k": "60"}]
)
def test_a_number_out_of_its_range_is_refused(tools, options):
    (name,) = options
    with pytest.raises(QueryError, match=f"{name} must be a number"):
        ir.discover(tools, TEXT, **options)


@pytest.mark.parametrize(
    ("bm25", "said"),
    [
        ([1.2, 0.5], "bm25 must be a mapping of k1 and b"),
        (1.2, "bm25 must be a mapping of k1 and b"),
        ({"K1": 1.2}, "bm25 has no 'K1'; did you mean 'k1'"),
        ({1: 1.2}, "bm25 has no 1"),
        ({"k1": -1}, "k1 of bm25 must be a number from 0 up"),
        ({"k1": float("nan")}, "k1 of bm25 must be a number from 0 up"),
        ({"k1": float("inf")}, "k1 of bm25 must be a number from 0 up"),
        ({"k1": True}, "k1 of bm25 must be a number from 0 up"),
        ({"b": 1.5}, "b of bm25 must be a number from 0 to 1"),
        ({"b": "0.5"}, "b of bm25 must be a number from 0 to 1"),
    ],
)
def test_numbers_of_bm25_that_are_none_are_refused(tools, bm25, said):
    for call in (ir.search, ir.discover):
        with pytest.raises(QueryError, match=said):
            call(tools, TEXT, bm25=bm25)


def test_numbers_of_numpy_are_numbers(notes):
    plain = lexical(notes, bm25={"k1": 2.0, "b": 0.5})
    assert lexical(notes, bm25={"k1": np.float64(2), "b": np.float32(0.5)}) == plain


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "10", float("nan"), 10_001])
def test_how_much_is_fetched_is_a_whole_number(tools, wrong):
    with pytest.raises(QueryError, match="fetch_k must be a whole number from 1 to 10,000"):
        ir.search(tools, TEXT, fetch_k=wrong)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"alpha": 0.1}, "alpha"),
        ({"fusion": "blend", "alpha": 0.5}, "alpha"),
        ({"fusion": "alpha", "mmr_lambda": 0.5}, "mmr_lambda"),
        ({"rrf_k": 10}, "rrf_k"),
        ({"rerank_text": "artifact"}, "rerank_text"),
        ({"rerank_max_chars": 10}, "rerank_max_chars"),
    ],
)
def test_a_number_that_nothing_would_look_at_is_refused(given, name):
    source = ir.CorpusSource.from_mapping({"a": "fill a pdf form"}, name="unused")
    corpus = ir.build(source, store=":memory:", embedder="hashing")
    for ask in (ir.search, ir.discover):
        with pytest.raises(QueryError, match=name):
            ask(corpus, "pdf", **given)
