"""The two legs: which records each brings, and that filters cost no match."""

import numpy as np
import pytest

from irdaemon.discovery.legs import Question, score_legs
from irdaemon.discovery.where import NO_FILTER
from irdaemon.embed import embed_query
from irdaemon.embed.hashing import Hashing
from irdaemon.text import tokenize
from tests.support.searching import engine_of, tool

ITEMS = {f"t{n}": tool(f"Fill pdf form number {n}") for n in range(300)}
ITEMS["odd"] = tool("Peel potatoes")


@pytest.fixture(scope="module")
def snapshot():
    return engine_of(ITEMS).snapshot


@pytest.fixture
def index(snapshot):
    return snapshot.corpora["tools"]


@pytest.fixture
def question(snapshot):
    def ask(text, mode="hybrid", k=5):
        known = snapshot.vocabulary
        terms = tuple(known[t] for t in dict.fromkeys(tokenize(text)) if t in known)
        vector = embed_query(Hashing(), text).vector if mode != "lexical" else None
        return Question(text, terms, vector, mode, k, NO_FILTER, frozenset())

    return ask


def names(index, positions):
    owners = index.rows.artifact_of.array[positions]
    return {index.rows.cards[int(owner)].artifact_id for owner in owners}


def position(index, name):
    """Return where the one record of an artifact stands."""
    return next(at for at in index.rows.list_positions() if names(index, [at]) == {name})


def test_each_mode_scores_by_its_own_legs(index, question):
    lexical = score_legs(index, question("potatoes", "lexical"), None, [])
    assert names(index, lexical.positions) == {"odd"}
    assert (lexical.best_cosine, lexical.cosine.tolist()) == (0.0, [0.0])
    dense = score_legs(index, question("potatoes", "dense"), None, [])
    assert dense.best_bm25 == 0.0
    assert dense.best_cosine > 0
    assert not dense.matched.any()


def test_candidates_are_what_either_leg_brings_ascending_and_each_once(index, question):
    legs = score_legs(index, question("fill number 7"), None, [])
    assert legs.positions.tolist() == sorted(set(legs.positions.tolist()))
    assert (legs.near | legs.matched).all()
    assert len(legs.positions) == len(legs.cosine) == len(legs.bm25) == len(legs.covered)


def test_a_filter_costs_no_match(index, question):
    mask = np.zeros(len(index.rows.present), np.bool_)
    mask[position(index, "odd")] = True
    legs = score_legs(index, question("fill pdf potatoes"), mask, [])
    assert names(index, legs.positions) == {"odd"}
    assert legs.best_bm25 > 0


def test_what_the_query_calls_by_name_is_a_candidate_unless_it_is_filtered_out(index, question):
    odd = int(index.rows.artifact_of.array[position(index, "odd")])
    asked = question("zebra", "lexical")
    assert names(index, score_legs(index, asked, None, [odd]).positions) == {"odd"}
    nothing = np.zeros(len(index.rows.present), np.bool_)
    legs = score_legs(index, asked, nothing, [odd])
    assert (len(legs.positions), legs.named) == (0, frozenset({odd}))


def test_the_score_of_a_candidate_is_that_of_its_record(index, question):
    asked = question("fill number 7")
    legs = score_legs(index, asked, None, [])
    everywhere = index.dense.scores(asked.vector)
    assert np.allclose(legs.cosine, everywhere[legs.positions], atol=1e-6)
    assert legs.best_cosine == pytest.approx(float(everywhere.max()), abs=1e-6)


def test_all_that_tie_with_the_last_place_are_candidates(index, question):
    legs = score_legs(index, question("pdf", "lexical", k=3), None, [])
    assert len(legs.positions) == len(ITEMS) - 1
