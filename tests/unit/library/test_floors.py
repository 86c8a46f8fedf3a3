"""Floors of reranked answers are found for one way to rerank, and hold for no other."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError, Unavailable
from irdaemon.library import built as registry
from irdaemon.library import reranking
from irdaemon.text import tokenize
from tests.support.searching import MANY_TOOLS as TOOLS

OUTSIDE = "what is the capital of australia"
INSIDE = "parse my invoices"


def by_words(query, texts):
    wanted = set(tokenize(query))
    return [len(wanted & set(tokenize(text))) / max(len(wanted), 1) for text in texts]


def generous(query, texts):
    return [0.5 + score / 2 for score in by_words(query, texts)]


def built(name="tools", store=":memory:"):
    source = ir.CorpusSource.from_mapping(TOOLS, name=name)
    return ir.build(source, store=store, embedder="hashing")


@pytest.fixture
def tools():
    made = built()
    yield made
    made.close()


def floor_of(answer, name="tools"):
    return answer.signals["per_source"][name]["floor"]


def test_a_floor_is_kept_beside_those_of_answers_that_are_not_reranked(tools):
    before = dict(tools.engine.snapshot.corpora["tools"].floors)
    plain = ir.discover(tools, INSIDE)
    floor = ir.calibrate(tools, by_words)
    assert floor.mode == "hybrid+rerank:tests.unit.library.test_floors.by_words"
    assert floor.j > 0.5
    after = tools.engine.snapshot.corpora["tools"].floors
    assert after == {**before, floor.mode: floor}
    assert floor_of(ir.discover(tools, INSIDE)) == floor_of(plain)


def test_a_floor_is_applied_to_what_is_reranked_in_just_that_way(tools):
    floor = ir.calibrate(tools, by_words)
    found, absent = (ir.discover(tools, text, rerank=by_words) for text in (INSIDE, OUTSIDE))
    assert found.results
    assert absent.abstained
    assert floor_of(absent)["at_least"] == floor.at_least
    others = [
        {"rerank": generous},
        {"rerank": by_words, "rerank_text": "artifact"},
        {"rerank": by_words, "mode": "lexical"},
    ]
    for asked in others:
        assert floor_of(ir.discover(tools, OUTSIDE, **asked)) == {"kind": "plain: not calibrated"}


def test_a_reranker_that_reads_whole_artifacts_has_a_floor_for_that(tools):
    floor = ir.calibrate(tools, by_words, rerank_text="artifact")
    asked = {"rerank": by_words, "rerank_text": "artifact"}
    assert floor_of(ir.discover(tools, INSIDE, **asked))["at_least"] == floor.at_least
    assert floor_of(ir.discover(tools, INSIDE, rerank=by_words))["kind"].startswith("plain")
    cut = ir.discover(tools, INSIDE, rerank_max_chars=50, **asked)
    assert floor_of(cut)["kind"].startswith("plain")


def test_each_of_several_corpora_has_a_floor_of_its_own_for_a_reranker(tools):
    more = built("more")
    floors = {made.name: ir.calibrate(made, by_words) for made in (tools, more)}
    answer = ir.discover([tools, more], INSIDE, rerank=by_words)
    for name, floor in floors.items():
        assert floor_of(answer, name)["at_least"] == floor.at_least


def scorer(scale):
    return lambda query, texts: [scale] * len(texts)


def test_no_floor_is_kept_for_a_function_without_a_lasting_name(tools):
    kept = dict(tools.engine.snapshot.corpora["tools"].floors)
    for rerank, text in (
        (scorer(1.0), "surface"),
        (scorer(1.0), "artifact"),
        (by_words, lambda corpus, hit: hit.summary),
    ):
        with pytest.raises(QueryError, match="has no stable name") as caught:
            ir.calibrate(tools, rerank, rerank_text=text)
        assert "rerank_id" in caught.value.hint
    assert tools.engine.snapshot.corpora["tools"].floors == kept


def test_a_function_without_a_lasting_name_takes_no_others_floor(tools):
    named = scorer(0.5)
    named.rerank_id = "half"
    ir.calibrate(tools, named)
    told = floor_of(ir.discover(tools, INSIDE, rerank=scorer(0.5)))
    assert told == {"kind": "plain: nothing names the reranker"}
    assert floor_of(ir.discover(tools, INSIDE, rerank=named))["kind"] != told["kind"]


def test_a_floor_under_a_name_that_is_not_its_own_is_not_used(tools):
    floor = ir.calibrate(tools, by_words)
    others = ir.calibrate(tools, generous)
    kept = tools.engine.ledger.corpora
    kept.put_floors("tools", {**kept.read_floors("tools"), floor.mode: others})
    tools.engine.writer.publisher.publish(tools.engine.corpora["tools"])
    told = floor_of(ir.discover(tools, INSIDE, rerank=by_words))
    assert told["kind"] == "plain: not calibrated"


class Encoder:
    made = 0

    def __init__(self, name, local_files_only=False):
        Encoder.made += 1

    def predict(self, pairs, activation_fn=None):
        return np.array([8 * by_words(query, [text])[0] - 4 for query, text in pairs])


def test_a_cross_encoders_floor_is_found_again_by_its_name(tools, monkeypatch):
    library = SimpleNamespace(CrossEncoder=Encoder)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    reranking._load_reranker.cache_clear()
    floor = ir.calibrate(tools, "cross-encoder:some/model")
    assert floor.mode == "hybrid+rerank:cross-encoder-model"
    answer = ir.discover(tools, OUTSIDE, rerank="cross-encoder:some/model")
    assert floor_of(answer)["at_least"] == floor.at_least
    assert Encoder.made == 1
    reranking._load_reranker.cache_clear()
    assert tools.engine.info("tools")["floors"][floor.mode]["at_least"] == floor.at_least
    assert Encoder.made == 1
    reranking._load_reranker.cache_clear()


def test_a_corpus_too_small_or_open_for_reading_only_is_not_calibrated(tmp_path, monkeypatch):
    few = ir.build(
        ir.CorpusSource.from_mapping({"a": "some words"}, name="few"),
        store=":memory:",
        embedder="hashing",
    )
    with pytest.raises(QueryError, match="too small to calibrate"):
        ir.calibrate(few, by_words)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(registry, "_by_name", {})
    built(store=None).close()
    with pytest.raises(Unavailable, match="open for reading only"):
        ir.calibrate("tools", by_words)


def test_a_floor_lives_as_long_as_the_ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(registry, "_by_name", {})
    first = built(store=None)
    floor = ir.calibrate(first, by_words)
    first.close()
    again = ir.open_corpus("tools")
    asked = ir.discover(again, INSIDE, rerank=by_words)
    assert floor_of(asked)["at_least"] == floor.at_least
    again.close()
    rebuilt = built(store=None)
    assert floor_of(ir.discover(rebuilt, INSIDE, rerank=by_words))["at_least"] == floor.at_least
    rebuilt.close()
