"""Budgets: the best rung that usually fits, and an answer in any case."""

from dataclasses import replace

import pytest

from irclient.errors import QueryError
from irdaemon.discovery.budget import Ladder
from irdaemon.runtime import profile
from irdaemon.types import Query, Selection
from tests.support.corpora import engine, mapped

ANSWER = Selection("q", "hybrid", (), True, "no_candidates", {}, 0, 0, 1, {}, 0.1, "hybrid")


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch):
    monkeypatch.setattr(profile, "_samples", {})


def climbed(ladder, query):
    """Return the query that was run, None where none was, and the rung of the answer."""
    ran = []

    def run(asked):
        ran.append(asked)
        return replace(ANSWER, rung="rerank" if asked.rerank else asked.mode)

    rung = ladder.answer(query, run).rung
    return ran[0] if ran else None, rung


def took(**ms):
    for name, each in ms.items():
        profile.note(f"rung {name}", each)


def test_a_rung_of_which_nothing_is_known_is_tried():
    assert climbed(Ladder(), Query("q", rerank=True, budget_ms=1))[1] == "rerank"


def test_the_best_rung_that_fits_answers():
    took(rerank=300, hybrid=8, lexical=2)
    ladder = Ladder()
    for budget, rung in ((500, "rerank"), (100, "hybrid"), (5, "lexical")):
        ran, answered = climbed(ladder, Query("q", rerank=True, budget_ms=budget))
        assert answered == rung
        assert not ran.rerank or rung == "rerank"


def test_where_nothing_fits_the_last_answer_is_given_again_and_else_the_lowest_rung():
    took(hybrid=8, lexical=2)
    ladder = Ladder()
    query = Query("q", budget_ms=1)
    assert climbed(ladder, query)[1] == "lexical"
    assert climbed(ladder, query) == (None, "cached")


def test_a_fresh_answer_is_never_one_that_was_given_before():
    took(hybrid=8, lexical=2)
    ladder = Ladder()
    query = Query("q", budget_ms=1, fresh=True)
    assert [climbed(ladder, query)[1] for _ in range(3)] == ["lexical"] * 3


def test_dense_is_not_replaced_by_words():
    took(dense=50)
    assert climbed(Ladder(), Query("q", mode="dense", budget_ms=1))[1] == "dense"


def test_a_slow_spell_is_not_remembered_for_ever():
    took(hybrid=1000)
    ladder = Ladder()
    rungs = [climbed(ladder, Query(f"q{n}", budget_ms=10))[1] for n in range(25)]
    assert rungs.count("hybrid") == 1


def test_an_answer_names_its_rung_and_a_wrong_budget_is_an_error():
    made = engine(mapped({"a": "x y"}))
    made.drain()
    assert made.discover(Query("x")).rung == "hybrid"
    assert made.discover(Query("x", mode="lexical", budget_ms=50)).rung == "lexical"
    for wrong in (-1, "soon", True):
        with pytest.raises(QueryError, match="budget_ms"):
            made.discover(Query("x", budget_ms=wrong))
