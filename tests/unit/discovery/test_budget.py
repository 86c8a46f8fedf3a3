"""Budgets: the best tier that usually fits, and an answer in any case."""

from dataclasses import replace

import pytest

from irclient.errors import QueryError
from irdaemon.discovery.query import Tiers
from irdaemon.types import Query, Selection
from tests.support.corpora import engine, mapped

ANSWER = Selection("q", "hybrid", (), True, "no_candidates", {}, 0, 0, 1, {}, 0.1, "hybrid")


def answered(tiers, query):
    """Return the query that was run, None where none was, and the tier of the answer."""
    ran = []

    def run(asked):
        ran.append(asked)
        return replace(ANSWER, tier="rerank" if asked.rerank else asked.mode)

    tier = tiers.answer(query, run).tier
    return ran[0] if ran else None, tier


def tiers_that_took(**ms):
    """Return tiers of which each took so long a hundred times."""
    tiers = Tiers()
    for name, each in ms.items():
        answer_in(tiers, *[each] * 100, tier=name)
    return tiers


def answer_in(tiers, *took_ms, tier="hybrid"):
    """Have a tier answer queries without a budget, each in so many milliseconds."""
    for ms in took_ms:
        tiers.answer(Query("q"), lambda _, ms=ms: replace(ANSWER, tier=tier, took_ms=ms))


def test_a_tier_of_which_nothing_is_known_is_tried():
    assert answered(tiers_that_took(), Query("q", rerank=True, budget_ms=1))[1] == "rerank"


def test_the_best_tier_that_fits_answers():
    tiers = tiers_that_took(rerank=300, hybrid=8, lexical=2)
    for budget, tier in ((500, "rerank"), (100, "hybrid"), (5, "lexical")):
        ran, by = answered(tiers, Query("q", rerank=True, budget_ms=budget))
        assert by == tier
        assert not ran.rerank or tier == "rerank"


def test_where_nothing_fits_the_last_answer_is_given_again_and_else_the_lowest_tier():
    tiers = tiers_that_took(hybrid=8, lexical=2)
    query = Query("q", budget_ms=1)
    assert answered(tiers, query)[1] == "lexical"
    assert answered(tiers, query) == (None, "cached")


def test_a_fresh_answer_is_never_one_that_was_given_before():
    tiers = tiers_that_took(hybrid=8, lexical=2)
    query = Query("q", budget_ms=1, fresh=True)
    assert [answered(tiers, query)[1] for _ in range(3)] == ["lexical"] * 3


def test_dense_is_not_replaced_by_words():
    tiers = tiers_that_took(dense=50)
    assert answered(tiers, Query("q", mode="dense", budget_ms=1))[1] == "dense"


def test_a_slow_spell_is_not_remembered_for_ever():
    tiers = tiers_that_took(hybrid=1000)
    by = [answered(tiers, Query(f"q{n}", budget_ms=10))[1] for n in range(25)]
    assert by.count("hybrid") == 1


def test_only_the_last_hundred_answers_of_a_tier_count():
    tiers, query = Tiers(), Query("q", budget_ms=5)
    answer_in(tiers, *[1000.0] * 100)
    assert tiers.choose_tier(query).mode == "lexical"
    answer_in(tiers, *[2.0] * 100)
    assert tiers.choose_tier(query) is query


def test_answers_without_a_budget_are_measured_too():
    tiers, query = Tiers(), Query("q", budget_ms=0.05)
    assert tiers.choose_tier(query) is query
    answered(tiers, Query("q"))
    assert tiers.choose_tier(query).mode == "lexical"


def test_an_answer_names_its_tier_and_a_wrong_budget_is_an_error():
    made = engine(mapped({"a": "x y"}))
    made.drain()
    assert made.discover(Query("x")).tier == "hybrid"
    assert made.discover(Query("x", mode="lexical", budget_ms=50)).tier == "lexical"
    for wrong in (-1, "soon", True):
        with pytest.raises(QueryError, match="budget_ms"):
            made.discover(Query("x", budget_ms=wrong))


def test_an_answer_that_was_begun_before_answers_were_forgotten_is_not_given_again():
    tiers, query = tiers_that_took(hybrid=8, lexical=2), Query("q", budget_ms=1)

    def run(asked):
        tiers.forget_answers()
        return replace(ANSWER, tier=asked.mode)

    assert tiers.answer(query, run).tier == "lexical"
    assert answered(tiers, query)[1] == "lexical"
