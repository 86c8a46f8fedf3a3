"""The largest scores: the same as sorting all of them gives, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.index.dense import find_least, find_top


def sorted_top(scores, depth, above=-np.inf):
    best = sorted((score for score in scores.tolist() if score > above), reverse=True)
    if not best:
        return []
    least = best[min(depth, len(best)) - 1]
    return [place for place, score in enumerate(scores.tolist()) if score >= least > above]


@pytest.mark.parametrize("levels", [3, 50, 1_000_000])
@pytest.mark.parametrize("size", [0, 1, 99, 5_000, 60_000])
def test_the_best_of_many_are_those_that_sorting_gives(size, levels):
    chance = np.random.default_rng(size + levels)
    scores = (chance.integers(0, levels, size) / levels).astype(np.float32)
    assert find_top(scores, 100).tolist() == sorted_top(scores, 100)
    assert find_top(scores, 100, above=0).tolist() == sorted_top(scores, 100, above=0)


def test_few_matches_among_many_zeros_are_found():
    scores = np.zeros(50_000, np.float32)
    scores[[7, 40_000]] = 0.5, 0.25
    assert find_top(scores, 100, above=0).tolist() == [7, 40_000]
    assert len(find_top(scores, 100)) == 50_000, "all others tie"


def test_scores_that_a_sample_would_miss_are_found():
    scores = np.zeros(100_000, np.float32)
    scores[1:90] = np.arange(1, 90)
    assert find_top(scores, 20).tolist() == list(range(70, 90))


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=300), st.integers(1, 300))
def test_any_scores_are_cut_at_the_right_place(values, depth):
    scores = np.array(values, np.float32)
    assert find_top(scores, depth).tolist() == sorted_top(scores, depth)


def test_the_least_of_the_wanted_is_known():
    assert find_least(np.array([3, 1, 2, 5], np.float32), 2) == 3
