"""Graded relevance: levels, watched artifacts, and what a change of indexing makes worse."""

import json
import math
from dataclasses import asdict

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.graded import (
    GAINS,
    GradedQuery,
    compare_indexings,
    measure_ranking,
)
from irdaemon.contrib.evaluate.ranking import ndcg

GRAPHS = GradedQuery(
    "graph network",
    {"core": "core", "strong": "strong", "weak": "uses-tools", "near": "tangential"},
    distractors=("near", "other"),
    hard_positives=("strong",),
)


class Ranking:
    """A searcher that has one ranking for every query."""

    def __init__(self, *ids):
        self.ids = ids

    def search(self, query):
        hits = [ir.Hit("c", each, each, "text", 1.0, {}, "", "", {}) for each in self.ids]
        return ir.Selection(
            query.text, "hybrid", tuple(hits), False, "ranked", {}, 1, 1, 1, {}, 0.1
        )


def test_levels_have_the_gains_of_the_reference():
    assert list(GAINS.values()) == [0, 0, 1, 2, 3]
    assert GRAPHS.gains == {"core": 3, "strong": 2, "weak": 1}


def test_a_ranking_with_the_core_first_is_better_at_the_same_recall():
    best = ndcg(["core", "strong", "weak"], GRAPHS.gains, 10)
    worse = ndcg(["weak", "strong", "core"], GRAPHS.gains, 10)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert best == 1.0
    assert worse == pytest.approx((1 + 2 / math.log2(3) + 3 / 2) / ideal)
    assert (
        ndcg(["near"], GRAPHS.gains, 10)
        == measure_ranking(["core"], GradedQuery("x"), 10).ndcg
        == 0.0
    )


def test_watched_artifacts_are_counted_among_the_first_k():
    found = measure_ranking(["near", "core", "strong"], GRAPHS, 2)
    assert (found.false_positives, found.hard_recall) == (0.5, 0.0)
    unwatched = measure_ranking(["core"], GradedQuery("x", {"core": "core"}), 2)
    assert (unwatched.false_positives, unwatched.hard_recall) == (None, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"levels": {"a": "strogn"}}, "unknown level 'strogn' of 'a'; did you mean 'strong'"),
        ({"levels": {"a": "core"}, "distractors": ("a",)}, "'a' is no distractor"),
        ({"levels": {"a": "tangential"}, "hard_positives": ("a",)}, "'a' is no hard positive"),
        ({"hard_positives": ("b",)}, "its level is none"),
    ],
)
def test_what_contradicts_its_level_is_refused(given, message):
    with pytest.raises(QueryError, match=message):
        GradedQuery("x", **given)


def test_a_hard_positive_that_falls_and_a_distractor_that_rises_are_regressions():
    before = Ranking("core", "strong", "weak", "near")
    after = Ranking("core", "near", "weak", "strong")
    found = compare_indexings({"before": before, "after": after}, [GRAPHS], k=2)
    assert found.baseline == "before"
    assert found.measures["after"][GRAPHS.text].ndcg < found.measures["before"][GRAPHS.text].ndcg
    assert [
        (each.artifact_id, each.rank_before, each.rank_after) for each in found.regressions()
    ] == [
        ("near", 4, 2),
        ("strong", 2, 4),
    ]
    assert {each.label for each in found.regressions()} == {"after"}
    assert found.regressions(threshold=2) == ()


def test_what_went_or_came_is_a_regression_and_what_is_better_is_none():
    before, after = Ranking("core", "strong"), Ranking("core", "other")
    gone, came = sorted(
        compare_indexings({"a": before, "b": after}, [GRAPHS]).regressions(10),
        key=lambda each: each.role,
        reverse=True,
    )
    assert (gone.artifact_id, gone.rank_before, gone.rank_after) == ("strong", 2, None)
    assert (came.artifact_id, came.rank_before, came.rank_after) == ("other", None, 2)
    assert compare_indexings({"a": after, "b": before}, [GRAPHS]).regressions() == ()


def test_corpora_built_in_two_ways_are_compared():
    items = {"core": "graph network of nodes", "near": "network cable"}
    built = {
        name: ir.build(ir.CorpusSource.from_mapping(given, name=name), store=":memory:")
        for name, given in (("old", items), ("new", {**items, "core": "of nodes"}))
    }
    query = GradedQuery("graph network", {"core": "core"}, ("near",), ("core",))
    found = compare_indexings(built, [query])
    assert found.measures["old"][query.text].ndcg == 1.0
    assert {each.artifact_id for each in found.regressions()} == {"core", "near"}
    for each in built.values():
        each.close()


@pytest.mark.parametrize(
    ("searchers", "queries"),
    [({}, [GRAPHS]), ({"a": Ranking()}, []), ({"a": Ranking()}, [GRAPHS] * 2)],
)
def test_a_comparison_of_nothing_or_of_one_query_twice_is_refused(searchers, queries):
    with pytest.raises(QueryError):
        compare_indexings(searchers, queries)


def test_a_corpus_compared_with_itself_has_no_regression_and_the_outcome_is_plain_data():
    same = Ranking("weak", "near", "core", "strong")
    found = compare_indexings({"one": same, "other": same}, [GRAPHS], k=3)
    assert found.regressions() == ()
    assert found.measures["one"] == found.measures["other"]
    plain = json.loads(json.dumps(asdict(found)))
    measures = plain["measures"]["one"][GRAPHS.text]
    assert 0 < measures["ndcg"] < 1
    assert (measures["false_positives"], measures["hard_recall"]) == (0.5, 0.0)


def test_what_is_named_or_ranked_twice_counts_once():
    twice = GradedQuery("x", {"a": "core", "b": "strong"}, ("x", "x"), ("b", "b"))
    once, again = Ranking("a", "x", "b"), Ranking("a", "x", "a", "b")
    found = compare_indexings({"once": once, "again": again}, [twice], k=3)
    assert found.measures["again"] == found.measures["once"]
    assert found.ranks["again"]["x"] == {"x": 2, "b": 3}
    measures = found.measures["once"]["x"]
    assert (measures.false_positives, measures.hard_recall) == (1.0, 1.0)


@pytest.mark.parametrize("k", [0, -1, True, 2.5])
def test_an_invalid_k_is_refused(k):
    with pytest.raises(QueryError, match="k must be a whole number above 0"):
        compare_indexings({"a": Ranking()}, [GRAPHS], k=k)


def test_shares_are_those_of_the_artifacts_that_are_named_beside_them():
    query = GradedQuery(
        "x", dict.fromkeys("acz", "strong"), ("b", "x"), ("a", "c", "z"), theme="letters"
    )
    found = compare_indexings({"one": Ranking(*"bbadc")}, [query], k=3)
    alone = measure_ranking(list("badc"), query, 3)
    assert found.measures["one"]["x"] == alone
    assert (alone.distractors_seen, alone.hard_positives_missed) == (("b",), ("c", "z"))
    assert alone.false_positives == len(alone.distractors_seen) / 2
    assert alone.hard_recall == pytest.approx(1 - len(alone.hard_positives_missed) / 3)
    assert found.ranks["one"]["x"] == {"b": 1, "a": 2, "c": 4}
