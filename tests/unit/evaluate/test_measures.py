"""Measures of a ranking, against numbers made by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.evaluate.measures import (
    MEASURES,
    average_precision,
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


def test_f1_is_the_harmonic_mean_and_0_where_both_are():
    assert f1(0.5, 1.0) == pytest.approx(2 / 3)
    assert f1(0.0, 0.0) == 0.0
