import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.discovery.decide import check_spec, fill_rel, select
from irdaemon.types import Hit, SelectSpec


def hits(*scores):
    return [Hit("c", f"id{n}", f"n{n}", "k", s, {}, "", "", {}) for n, s in enumerate(scores)]


def chosen(scores, **spec):
    choice = select(hits(*scores), SelectSpec(**spec))
    return [hit.score for hit in choice.hits], choice.reason


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.8, 0.75, 0.5), ([0.8, 0.75], "rel_threshold")),
        ((0.8,), ([0.8], "single")),
        ((0.8, 0.8, 0.8, 0.8), ([0.8, 0.8, 0.8], "max_k")),
        ((0.8, 0.79), ([0.8, 0.79], "exhausted")),
        ((-0.1, 0.2), ([-0.1], "nonpositive_top")),
    ],
)
def test_the_conservative_rule_stays_within_a_share_of_the_top_and_says_why_it_stopped(
    scores, expected
):
    assert chosen(scores) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"strategy": "top_k", "max_k": 2}, [0.9, 0.5]),
        ({"strategy": "rel_threshold", "rel": 0.5}, [0.9, 0.5]),
        ({"strategy": "abs_threshold", "min_score": 0.3}, [0.9, 0.5, 0.3]),
        ({"strategy": "score_gap"}, [0.9, 0.5, 0.3]),
        ({"strategy": "score_gap", "gap_ratio": 0.58}, [0.9]),
    ],
)
def test_each_strategy_keeps_its_own_rule(spec, expected):
    assert chosen((0.9, 0.5, 0.3, 0.1), **spec)[0] == expected


def test_scores_that_lie_close_have_no_gap_and_a_worthless_first_stands_alone():
    assert chosen((0.9, 0.9, 0.8), strategy="score_gap")[0] == [0.9, 0.9, 0.8]
    assert chosen((-0.1, 0.2), strategy="rel_threshold")[0] == [-0.1]


def test_nothing_found_and_nothing_but_zeros_are_no_candidates():
    assert chosen(()) == ([], "no_candidates")
    assert chosen((0.0, 0.0)) == ([], "no_candidates")


def test_a_top_below_the_floor_abstains_and_the_signals_tell_both():
    choice = select(hits(0.3, 0.2), SelectSpec(min_score=0.4))
    assert (choice.abstained, choice.reason) == (True, "below_floor")
    assert (choice.signals["top_score"], choice.signals["min_score"]) == (0.3, 0.4)


def test_signals_count_candidates_and_name_the_weakest_committed_share():
    choice = select(hits(0.8, 0.76, 0.1), SelectSpec())
    assert choice.signals == {
        "n_candidates": 3,
        "n_selected": 2,
        "top_score": 0.8,
        "min_ratio": 0.95,
    }
    assert select(hits(0.8, 0.1), SelectSpec()).signals["min_ratio"] == 1.0


def test_a_callable_chooses_among_the_hits_and_the_limit_still_holds():
    choice = select(hits(0.9, 0.8, 0.7), SelectSpec(max_k=1), custom=lambda found: found[1:])
    assert ([hit.score for hit in choice.hits], choice.reason) == ([0.8], "custom")
    none = select(hits(0.9), SelectSpec(), custom=lambda found: [])
    assert none.abstained
    invented = select(hits(0.9), SelectSpec(), custom=lambda found: hits(1.0))
    assert invented.hits == ()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"strategy": "conservativ"}, "did you mean 'conservative'"),
        ({"strategy": "abs_threshold"}, "needs a min_score"),
        ({"max_k": 0}, "max_k"),
        ({"rel": 1.5}, "rel"),
        ({"gap_ratio": "x"}, "gap_ratio"),
        ({"min_score": float("nan")}, "min_score"),
    ],
)
def test_a_spec_that_cannot_be_followed_is_an_error_that_says_what(spec, said):
    with pytest.raises(QueryError, match=said):
        check_spec(SelectSpec(**spec))


@given(
    st.lists(st.floats(0, 1), max_size=20),
    st.sampled_from(["conservative", "top_k", "score_gap", "rel_threshold"]),
    st.integers(1, 5),
)
def test_the_limit_is_always_kept_and_a_commitment_begins_with_the_best_ranked(scores, name, max_k):
    found = hits(*scores)
    choice = select(found, SelectSpec(strategy=name, max_k=max_k))
    assert len(choice.hits) <= max_k
    assert choice.abstained == (not choice.hits)
    assert not choice.hits or choice.hits[0] is found[0]


@pytest.mark.parametrize(
    ("scores", "committed"),
    [
        ((0.8, 0.7, 0.6), 2),  # close behind a clear first
        ((0.8, 0.6, 0.6), 1),
        ((0.4, 0.3, 0.25), 3),  # none of them has much
        ((0.4, 0.2, 0.2), 1),
        ((), 0),
    ],
)
def test_a_first_with_little_evidence_has_rivals_further_off(scores, committed):
    found = hits(*scores)
    assert len(select(found, fill_rel(SelectSpec(min_score=None), found)).hits) == committed


@pytest.mark.parametrize("strategy", ["top_k", "rel_threshold", "score_gap"])
def test_a_strategy_that_was_chosen_is_followed_to_the_letter(strategy):
    spec = SelectSpec(strategy, min_score=None)
    assert fill_rel(spec, hits(0.8, 0.7)) == spec


@pytest.mark.parametrize("rel", [0.9, 0.5])
def test_a_share_of_the_top_that_was_asked_for_holds(rel):
    found = hits(0.4, 0.3, 0.25)
    spec = SelectSpec(rel=rel, min_score=None)
    kept = select(found, fill_rel(spec, found)).hits
    assert [hit.score for hit in kept] == [s for s in (0.4, 0.3, 0.25) if s >= rel * 0.4]


@pytest.mark.parametrize("strategy", ["conservative", "abs_threshold"])
def test_a_threshold_may_be_a_number_of_numpy(strategy):
    spec = SelectSpec(strategy, min_score=np.float32(0.9))
    check_spec(spec)
    assert select(hits(0.3), spec).reason == "below_floor"
