"""Measures of a ranking, against numbers made by hand."""

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG

from irdaemon.contrib.evaluate.ranking import (
    MEASURES,
    average_precision,
    completeness,
    f1,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)


def test_measures_are_what_the_hand_computes():
    ranked, gold = ["a", "x", "b", "y"], {"x", "y"}
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(ranked, gold, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert (recall(ranked, gold, 2), precision(ranked, gold, 10)) == (0.5, 0.2)
    assert average_precision(ranked, gold, 10) == pytest.approx((1 / 2 + 2 / 4) / 2)


@given(st.permutations("abcdefgh"), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_every_measure_lies_between_0_and_1_and_a_perfect_ranking_gains_1(ranked, gold):
    for measure in MEASURES.values():
        assert 0 <= measure(ranked, gold, 5) <= 1
    perfect = sorted(ranked, key=lambda each: each not in gold)
    assert ndcg(perfect, gold, 8) == pytest.approx(1)
    assert average_precision(perfect, gold, 8) == pytest.approx(1)


def test_only_the_first_k_places_count():
    assert reciprocal_rank(["a", "x"], {"x"}, 1) == 0
    assert reciprocal_rank(["a", "x"], {"x"}, 2) == 0.5
    assert recall(["a", "x", "y"], {"x", "y"}, 2) == 0.5
    assert average_precision(["a", "x"], {"x", "y", "z"}, 2) == pytest.approx(0.5 / 3)


def test_average_precision_is_the_mean_over_all_the_gold_as_trec_has_it():
    assert average_precision(["x", "a"], {"x", "y", "z"}, 1) == pytest.approx(1 / 3)
    assert average_precision(["x", "y", "z"], {"x", "y", "z"}, 2) == pytest.approx(2 / 3)


def test_a_ranking_without_gold_is_worth_nothing_by_any_measure():
    assert {measure(["a"], {"x"}, 5) for measure in MEASURES.values()} == {0.0}
    assert {measure([], {"x"}, 5) for measure in MEASURES.values()} == {0.0}


def test_a_better_grade_gains_more_and_only_ndcg_counts_it():
    gold = {"x": 3.0, "y": 1.0}
    ideal = 3 + 1 / math.log2(3)
    assert ndcg(["y", "x"], gold, 10) == pytest.approx((1 + 3 / math.log2(3)) / ideal)
    assert ndcg(["x", "y"], gold, 10) == pytest.approx(1)
    assert recall(["y"], gold, 1) == 0.5


def test_a_ranking_is_complete_where_all_the_gold_is_among_the_first():
    assert completeness(["x", "a", "y"], {"x", "y"}, 2) == 0
    assert completeness(["x", "a", "y"], {"x", "y"}, 3) == 1


IDS = "abcdefghij"
grades = st.dictionaries(st.sampled_from(IDS), st.integers(1, 3), min_size=1)


@given(st.permutations(IDS), st.integers(0, 10), grades, st.integers(1, 12))
def test_measures_equal_those_of_an_independent_library(order, length, gold, k):
    ranked = order[:length]
    theirs = {
        "ndcg": nDCG @ k,
        "recall": R @ k,
        "precision": P @ k,
        "mrr": RR @ k,
        "map": AP @ k,
    }
    qrels = {"q": gold}
    run = {"q": {each: float(length - at) for at, each in enumerate(ranked)}}
    # Without a candidate they have no value for a query, which counts as 0 in a mean.
    found = ir_measures.calc_aggregate(theirs.values(), qrels, run)
    for name, measure in theirs.items():
        assert MEASURES[name](ranked, gold, k) == pytest.approx(found[measure]), name


def test_f1_is_the_harmonic_mean_and_0_where_both_are():
    assert f1(0.5, 1.0) == pytest.approx(2 / 3)
    assert f1(0.0, 0.0) == 0.0
