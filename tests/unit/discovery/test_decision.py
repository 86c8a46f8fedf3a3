"""The probability that a hit is what is wanted: what raises it, and what lowers it."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.types import MODES
from irdaemon.discovery import decision
from irdaemon.discovery.decide import fill_rel
from irdaemon.discovery.decision import (
    FEATURES,
    FORMULA,
    LEAST,
    LONG,
    WEIGHTS,
    Circumstances,
    compute_logits,
    compute_probability,
    explain_features,
    find_shift,
    measure,
)
from irdaemon.types import Floor, Query, SelectSpec
from tests.support.searching import MANY_TOOLS, engine_of, tool

PLAIN = Circumstances(trust=1.0, length=3.0)
FLOOR = Floor(
    mode="hybrid", embedder="e", recipe="r", at_least=0.5, j=0.8, n_inside=9, n_outside=9,
    calibrated_at=0.0, artifacts=9, last=9, formula=FORMULA, shift=1.5,
)  # fmt: skip
shares = st.floats(0, 1)


def decide(cosine=0.3, bm25=9.0, asked=PLAIN, identifier=0.0, mode="hybrid", shift=None):
    features = measure(mode, asked, *(np.array([each]) for each in (cosine, bm25, identifier)))
    given = WEIGHTS[mode]
    return float(compute_probability(given, compute_logits(given, features), shift)[0])


@given(shares, shares, st.floats(0, 60), st.floats(0, 60))
def test_no_likeness_and_no_match_makes_a_hit_less_likely(cosine, nearer, bm25, more):
    found = decide(cosine, bm25)
    assert 0 <= found <= 1
    assert decide(max(cosine, nearer), bm25) >= found
    assert decide(cosine, max(bm25, more)) >= found
    assert decide(cosine, bm25, identifier=1.0) >= found


def test_a_longer_query_has_to_match_better_and_an_ordinary_one_too():
    assert decide(asked=replace(PLAIN, length=4.0)) < decide()
    assert decide(asked=replace(PLAIN, coding=0.6)) < decide(asked=replace(PLAIN, coding=0.1))


def test_a_request_of_several_sentences_has_to_match_better_still():
    apart = [
        decide(asked=replace(PLAIN, length=length)) for length in (LONG - 0.5, LONG, LONG + 0.5)
    ]
    odds = np.log(apart) - np.log1p(-np.array(apart))
    assert odds[1] - odds[2] > odds[0] - odds[1] > 0


def test_what_the_embedder_does_not_know_is_judged_by_words_alone():
    strange = replace(PLAIN, trust=0.0, coding=0.7)
    assert decide(0.9, asked=strange) == decide(0.0, asked=strange)


def test_a_leg_that_takes_no_part_counts_for_nothing():
    assert decide(0.1, mode="lexical") == decide(0.9, mode="lexical")
    assert decide(bm25=1.0, mode="dense") == decide(bm25=30.0, mode="dense")


def test_a_corpus_in_which_everything_scores_high_is_believed_less():
    assert (
        decide(shift=WEIGHTS["hybrid"].usual + 1)
        < decide()
        < decide(shift=WEIGHTS["hybrid"].usual - 1)
    )
    assert decide(shift=WEIGHTS["hybrid"].usual) == pytest.approx(decide())


@pytest.mark.parametrize("changed", [{"j": 0.49}, {"formula": FORMULA + 1}])
def test_a_shift_that_separates_badly_or_is_of_another_formula_is_not_applied(changed):
    assert find_shift(FLOOR) == 1.5
    assert find_shift(None) is find_shift(replace(FLOOR, **changed)) is None


def test_a_floor_survives_plain_data_and_what_another_version_added():
    assert Floor.from_dict({**FLOOR.to_dict(), "dense": {"level": 1}}) == FLOOR


def test_half_the_odds_of_the_first_is_its_share():
    for top in (0.9, 0.5, 0.2):
        odds = top / (1 - top)
        rel = fill_rel(SelectSpec(), [SimpleNamespace(score=top)]).rel
        assert rel * top == pytest.approx(odds / 2 / (1 + odds / 2))


def test_an_explanation_adds_up_to_the_decision():
    features = measure("hybrid", PLAIN, np.array([0.4]), np.array([12.0]), np.ones(1))
    given, usual = WEIGHTS["hybrid"], np.array([WEIGHTS["hybrid"].means])
    apart = compute_logits(given, features) - compute_logits(given, usual)
    told = explain_features("hybrid", features[0])
    assert set(told) == set(FEATURES)
    assert sum(told.values()) == pytest.approx(float(apart[0]), abs=0.01)


def test_the_weights_name_every_feature_of_every_mode_and_what_they_were_trained_on():
    told = json.loads(Path(decision.__file__).with_name("decision.json").read_text("utf-8"))
    assert set(told["modes"]) == set(MODES)
    assert all(set(each["weights"]) == set(FEATURES) for each in told["modes"].values())
    assert 0 < LEAST < 1
    assert all(len(digest) == 64 for digest in told["trained_on"].values())


def test_an_identifier_that_few_records_hold_counts():
    rules = {"cutoffs": tool("Screening of molecules", text="apply rule_of_leadlike_strict to all")}
    engine = engine_of({**MANY_TOOLS, **rules})
    held, absent = (
        engine.search(Query(f"what is behind {name}")).results[0]
        for name in ("rule_of_leadlike_strict", "rule_of_nothing_strict")
    )
    assert held.artifact_id == "cutoffs"
    assert held.score > max(LEAST, absent.score)


def test_in_another_language_the_words_that_are_known_decide():
    engine = engine_of(MANY_TOOLS)
    german, named = (
        engine.search(Query(f"wie kann ich die {word} mit dem werkzeug bearbeiten")).results
        for word in ("rechnungen", "invoices fill")
    )
    assert not german or german[0].score < LEAST
    assert named[0].score > LEAST
