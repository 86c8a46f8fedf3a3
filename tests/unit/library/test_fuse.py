"""Hits of several sources become one order by their ranks."""

import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irclient.types import Hit


def hit(id, score, corpus="a", pointer=""):
    return Hit(corpus, id, id, "text", score, {"dense": score}, "", pointer, {})


def ids(hits):
    return [each.artifact_id for each in hits]


def test_ranks_count_and_scores_of_different_scales_do_not():
    small = [hit("s1", 0.03), hit("s2", 0.02)]
    large = [hit("l1", 0.9, "b"), hit("l2", 0.8, "b")]
    fused = ir.fuse_hits({"small": small, "large": large})
    assert ids(fused) == ["s1", "l1", "s2", "l2"]
    assert fused[0].scores["rrf"] == pytest.approx(1 / 61)
    assert (fused[3].scores["source_score"], fused[3].scores["source_rank"]) == (0.8, 2)


def test_the_score_stays_evidence_and_never_rises():
    fused = ir.fuse_hits({"a": [hit("a", 0.3)], "b": [hit("b", 0.9, "b")]})
    assert [each.score for each in fused] == [0.3, 0.3]
    assert [each.artifact_id for each in ir.select(fused, min_score=0.2).hits] == ["a", "b"]


def test_one_source_passes_through_unchanged():
    hits = [hit("x", 0.9), hit("y", 0.5)]
    assert ir.fuse_hits({"a": hits, "empty": []}) == tuple(hits)
    assert ir.fuse_hits({"a": hits}, k=1) == (hits[0],)
    assert ir.fuse_hits({}) == ()


def test_within_a_source_an_artifact_counts_once_at_its_best_score():
    fused = ir.fuse_hits({"a": [hit("x", 0.2), hit("y", 0.5), hit("x", 0.9)], "b": []})
    assert [(each.artifact_id, each.score) for each in fused] == [("x", 0.9), ("y", 0.5)]


def test_weights_scale_a_source():
    sources = {"a": [hit("a1", 0.9), hit("a2", 0.8)], "b": [hit("b1", 0.9, "b")]}
    assert ids(ir.fuse_hits(sources, weights={"b": 3, "absent": 2})) == ["b1", "a1", "a2"]


def test_the_same_id_in_two_corpora_is_two_things_unless_an_identity_says_otherwise():
    sources = {"a": [hit("x", 0.9, pointer="/p")], "b": [hit("x", 0.5, "b", "/p")]}
    assert len(ir.fuse_hits(sources)) == 2
    (fused,) = ir.fuse_hits(sources, identity="pointer")
    assert fused.corpus == "a"
    assert fused.duplicates == ("b/x",)
    assert fused.scores["rrf"] == pytest.approx(2 / 61)
    (fused,) = ir.fuse_hits(sources, identity=lambda each: each.artifact_id)
    assert fused.duplicates == ("b/x",)


def test_hits_without_a_pointer_are_things_of_their_own():
    sources = {"a": [hit("x", 0.9), hit("y", 0.8)], "b": [hit("z", 0.5, "b")]}
    assert len(ir.fuse_hits(sources, identity="pointer")) == 3


def test_ties_go_by_rank_then_by_the_order_of_the_sources():
    one, two = [hit("b", 0.5)], [hit("a", 0.9, "b")]
    assert ids(ir.fuse_hits({"one": one, "two": two})) == ["b", "a"]
    assert ids(ir.fuse_hits({"two": two, "one": one})) == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rrf_k": 0}, "rrf_k must be"),
        ({"rrf_k": True}, "rrf_k must be"),
        ({"weights": {"a": -1}}, "the weight of 'a'"),
        ({"identity": "name"}, "unknown identity 'name'"),
        ({"k": 0}, "k must be"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(QueryError, match=message):
        ir.fuse_hits({"a": [hit("x", 0.5)], "b": []}, **options)


def test_nothing_found_anywhere_is_nothing():
    assert ir.fuse_hits({"a": [], "b": []}) == ()


def test_an_artifact_that_a_source_found_twice_adds_its_best_rank_alone():
    again = [hit("x", 0.9), hit("x", 0.7), hit("y", 0.8)]
    fused = ir.fuse_hits({"a": again, "b": [hit("z", 0.9, "b")]})
    assert ids(fused) == ["x", "z", "y"]
    assert (fused[0].scores["rrf"], fused[0].scores["source_rank"]) == (pytest.approx(1 / 61), 1)


def test_what_two_sources_found_comes_before_what_one_did_by_the_sum_of_its_ranks():
    sources = {
        "a": [hit("only-a", 0.9), hit("both", 0.8)],
        "b": [hit("both", 0.9, "b"), hit("only-b", 0.8, "b")],
    }
    fused = ir.fuse_hits(sources, identity=lambda each: each.artifact_id)
    assert {each.artifact_id: each.scores["rrf"] for each in fused} == {
        "both": pytest.approx(1 / 62 + 1 / 61),
        "only-a": pytest.approx(1 / 61),
        "only-b": pytest.approx(1 / 62),
    }
    assert ids(fused) == ["both", "only-a", "only-b"]


def test_two_artifacts_of_one_source_that_are_one_thing_count_once():
    sources = {
        "a": [hit("x1", 0.9, pointer="/same"), hit("x2", 0.8, pointer="/same")],
        "b": [hit("y", 0.5, "b")],
    }
    merged = ir.fuse_hits(sources, identity="pointer")[0]
    assert (merged.artifact_id, merged.duplicates) == ("x1", ())
    assert merged.scores["rrf"] == pytest.approx(1 / 61)


def test_no_more_are_given_than_asked_for_of_all_sources_together():
    sources = {name: [hit(f"{name}{n}", 1 - n / 10, name) for n in range(5)] for name in "ab"}
    assert ids(ir.fuse_hits(sources, k=3)) == ["a0", "b0", "a1"]
