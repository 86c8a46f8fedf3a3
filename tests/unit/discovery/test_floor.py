"""Confidence: how far what a query finds lies above what is usual in a corpus."""

from irdaemon.discovery.decide import FORMULA, Strength, compute_confidence
from irdaemon.types import Floor, Usual


def floor_with(**more):
    usual = Usual(0.2, 0.0, 0.1)
    plain = dict(
        mode="hybrid", embedder="e", recipe="r", dense=usual, lexical=Usual(1.0, 0.5, 0.5),
        at_least=0.5, j=0.8, n_inside=9, n_outside=9, calibrated_at=0.0, artifacts=9, last=9,
        formula=FORMULA,
    )  # fmt: skip
    return Floor(**{**plain, **more})


def test_confidence_rises_with_either_leg_and_falls_as_the_query_grows():
    floor = floor_with()
    usual = compute_confidence(floor, Strength(0.2, 2, 1.0))
    assert compute_confidence(floor, Strength(0.6, 2, 1.0)) > usual
    assert compute_confidence(floor, Strength(0.2, 20, 1.0)) > usual
    assert compute_confidence(floor, Strength(0.2, 2, 3.0)) < usual
    assert 0 <= compute_confidence(floor, Strength(-9e9, 0, 9e9)) <= usual < 0.5


def test_what_the_embedder_does_not_know_is_judged_by_words_alone():
    floor = floor_with()
    near = compute_confidence(floor, Strength(0.9, 2, 1.0, trust=0.0))
    assert near == compute_confidence(floor, Strength(0.0, 2, 1.0, trust=0.0))


def test_a_floor_survives_plain_data():
    assert Floor.from_dict(floor_with().to_dict()) == floor_with()
