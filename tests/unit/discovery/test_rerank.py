"""A reranker reads the best candidates again, under a floor of its own."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from irclient.errors import QueryError, Unavailable
from irdaemon.embed.rerankers import check_reranker, make_reranker
from irdaemon.engine import Engine, EngineOptions
from irdaemon.engine.queue import Job
from irdaemon.ledger import IN_MEMORY, Ledger
from irdaemon.text import tokenize
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import mapped
from tests.support.searching import MANY_TOOLS as TOOLS


class Shared:
    """Scores a text by the share of the query's words that it has, and fills even less."""

    id = "shared"

    def scores(self, query, texts):
        wanted = set(tokenize(query))
        return np.array(
            [len(wanted & set(tokenize(text))) / max(len(wanted), 1) for text in texts], np.float32
        )


def engine(reranker, items=TOOLS):
    from irdaemon.strategy import Skill

    made = Engine(
        Ledger(IN_MEMORY), [mapped(items, "tools", Skill())], EngineOptions(reranker=reranker)
    )
    made.request(Job("reconcile", "tools"))
    made.drain()
    return made


@pytest.fixture(scope="module")
def reading():
    return engine("tests.unit.discovery.test_rerank:Shared")


def test_the_rerankers_word_is_the_order_and_the_evidence(reading):
    found = reading.search(Query("parse invoices of any kind", rerank=True)).results
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert found[0].name == "parse-invoices"
    assert found[0].scores["evidence"] == pytest.approx(found[0].score)


def test_reranked_answers_have_a_floor_of_their_own(reading):
    floors = reading.snapshot.corpora["tools"].floors
    assert set(floors) == {"hybrid", "dense", "lexical", "hybrid+rerank:shared"}
    answer = reading.discover(Query("what is the capital of australia", rerank=True))
    assert answer.abstained
    told = answer.signals["per_source"]["tools"]
    assert told["floor"]["at_least"] == floors["hybrid+rerank:shared"].at_least
    assert reading.discover(Query("parse my invoices", rerank=True)).results


def test_an_exact_name_stays_first_whatever_the_reranker_says(reading):
    query = Query("fold-camera", rerank=True, select=SelectSpec(min_score=0.9))
    assert reading.discover(query).results[0].name == "fold-camera"


def test_a_query_that_does_not_ask_for_it_is_answered_without(reading):
    plain = engine("").search(Query("parse invoices")).results
    assert reading.search(Query("parse invoices")).results == plain


@pytest.mark.parametrize("name", ["", "tests.unit.discovery.test_rerank:Gone"])
def test_where_there_is_no_reranker_asking_for_one_is_an_error_and_nothing_else_is(name):
    made = engine(name)
    with pytest.raises(Unavailable):
        made.search(Query("parse invoices", rerank=True))
    assert made.search(Query("parse invoices")).results


class Gone:
    def __init__(self):
        raise Unavailable("the model is gone")


def test_a_cross_encoder_gives_probabilities(monkeypatch):
    class Model:
        def __init__(self, name, **options):
            self.name = name

        def predict(self, pairs, activation_fn=None):
            return np.array([0.0 if "no" in text else 5.0 for _, text in pairs])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=Model))
    made = make_reranker("cross-encoder:some/model")
    assert made.id == "cross-encoder-model"
    assert made.scores("q", ["no", "yes"]) == pytest.approx([0.5, 0.9933], abs=1e-4)
    assert len(made.scores("q", [])) == 0


def test_an_unknown_reranker_is_refused_with_the_nearest_name():
    with pytest.raises(QueryError, match="did you mean 'cross-encoder'"):
        check_reranker("cros-encoder")


class Other(Shared):
    """Scores alike, under another name."""

    id = "other"


def test_a_floor_of_another_reranker_is_not_applied_and_a_new_one_is_found(tmp_path):
    from irdaemon.strategy import Skill

    def opened(name):
        corpora = [mapped(TOOLS, "tools", Skill())]
        reranker = f"tests.unit.discovery.test_rerank:{name}"
        return Engine(Ledger(str(tmp_path / "l")), corpora, EngineOptions(reranker=reranker))

    def floor_of(made):
        answer = made.discover(Query("parse my invoices", rerank=True))
        return answer.signals["per_source"]["tools"]["floor"]["kind"]

    first = opened("Shared")
    first.request(Job("reconcile", "tools"))
    first.drain()
    assert floor_of(first) == "auto"
    first.ledger.close()
    second = opened("Other")
    assert floor_of(second) == "plain: not calibrated"
    second.request(Job("reconcile", "tools"))
    second.drain()
    assert floor_of(second) == "auto"
    assert "hybrid+rerank:other" in second.snapshot.corpora["tools"].floors
    second.ledger.close()


def test_with_labelled_queries_a_rerankers_floor_is_found_once_and_not_after_every_scan(tmp_path):
    from irdaemon.strategy import Skill

    (tmp_path / "cases.jsonl").write_text('{"query": "parse my invoices", "gold": ["x"]}\n')
    cases = str(tmp_path / "cases.jsonl")
    corpus = replace(mapped(TOOLS, "tools", Skill()), cases=cases)
    jobs = []
    made = Engine(
        Ledger(IN_MEMORY),
        [corpus],
        EngineOptions(reranker="tests.unit.discovery.test_rerank:Shared"),
        notify=lambda topic, data: jobs.append(data.get("kind")),
    )
    for _ in range(3):
        made.request(Job("reconcile", "tools"))
        made.drain()
    assert jobs.count("calibrate") == 1


def test_a_pair_without_a_score_is_the_worst(monkeypatch):
    class Model:
        def __init__(self, name, **options):
            pass

        def predict(self, pairs, activation_fn=None):
            return np.array([float("nan"), -900.0, 900.0])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=Model))
    scores = make_reranker("cross-encoder:some/model").scores("q", ["a", "b", "c"])
    assert scores == pytest.approx([0, 0, 1])
