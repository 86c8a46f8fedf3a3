"""How good rankings are, in the mean and for each query."""

import json

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import evaluate_discovery
from tests.support.evaluation import hit, run

RUNS = [
    run("a", hit("a", 0.9), hit("b")),
    run((), hit("b", 0.2)),
    run("b", hit("a", 0.8), hit("b")),
    run("z", hit("a", 0.7)),
]


def test_each_query_with_gold_has_its_own_values_under_its_id():
    found = evaluate_discovery(RUNS, k_values=(1,), primary_k=2)
    assert set(found.per_query) == {"q00000", "q00002", "q00003"}
    assert [found.per_query[each]["mrr@2"] for each in found.per_query] == [1.0, 0.5, 0.0]
    assert found.measures["mrr@2"] == 0.5
    assert (found.n_retrieval_miss, found.n_gold, found.n) == (1, 3, 4)


def test_the_first_measure_at_the_primary_k_is_the_primary_one_and_every_mean_has_an_interval():
    found = evaluate_discovery(RUNS, k_values=(1, 5), primary_k=3, metrics=("recall", "map"))
    assert list(found.measures) == [f"{m}@{k}" for m in ("recall", "map") for k in (1, 3, 5)]
    assert (found.primary_measure, found.primary) == ("recall@3", 0.6667)
    assert found.intervals.keys() == found.measures.keys()
    low, high = found.intervals["recall@3"]
    assert low <= found.primary <= high


@pytest.mark.parametrize(("threshold", "share"), [(0.3, 1.0), (0.1, 0.0), (None, None)])
def test_the_share_of_right_abstentions_needs_a_threshold(threshold, share):
    assert evaluate_discovery(RUNS, abstain_threshold=threshold).abstention_accuracy == share


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"metrics": ("ndgc",)}, "unknown measure 'ndgc'.*ndcg"),
        ({"metrics": ()}, "no measure is named"),
        ({"k_values": (0,)}, "whole number above 0"),
        ({"primary_k": True}, "whole number above 0"),
    ],
)
def test_an_impossible_measure_is_refused_by_name(given, reason):
    with pytest.raises(QueryError, match=reason):
        evaluate_discovery(RUNS, **given)


def test_a_k_beyond_the_candidates_finds_what_there_is():
    found = evaluate_discovery(RUNS, k_values=(1_000,), metrics=("recall",), primary_k=1_000)
    assert found.measures == {"recall@1000": 0.6667}


def test_grades_count_in_the_mean():
    graded = [run({"a": 1, "b": 3}, hit("a"), hit("b"))]
    assert evaluate_discovery(graded).measures["ndcg@10"] == pytest.approx(0.7967, abs=1e-4)
    assert evaluate_discovery([run("ab", hit("a"), hit("b"))]).measures["ndcg@10"] == 1.0


def test_a_report_is_plain_data_and_reads_as_text():
    found = evaluate_discovery(RUNS, abstain_threshold=0.5)
    assert json.loads(json.dumps(found.to_dict()))["abstention_accuracy"] == 1.0
    assert "DiscoveryReport: 4 cases, 3 with gold; ndcg@10 " in str(found)
    assert "1 retrieval_miss" in str(found)
