"""Accuracy as a catalogue grows."""

import pytest

from irclient.errors import QueryError
from irdaemon.evaluate.cases import Case
from irdaemon.evaluate.curve import distractor_robustness_curve


def test_accuracy_over_catalogue_size_is_1_alone_and_the_same_for_the_same_seed():
    scope = {f"item{n}": f"word{n} shared" for n in range(10)}
    probes = [Case("word3", ("item3",)), Case("shared", ("item4",))]

    def ranker(items):
        def rank(query, k):
            return sorted(items, key=lambda i: (-(query in items[i].split()), i))[:k]

        return rank

    curve = distractor_robustness_curve(scope, probes, ranker, sizes=(1, 4, 100), trials=5)
    assert curve[1] == 1.0
    assert list(curve) == [1, 4, 10]
    assert curve == distractor_robustness_curve(scope, probes, ranker, (1, 4, 100), trials=5)


def test_without_a_probe_accuracy_is_0_and_no_size_exceeds_the_catalogue():
    curve = distractor_robustness_curve({"a": "x", "b": "y"}, [], lambda items: None)
    assert curve == {1: 0.0, 2: 0.0}


@pytest.mark.parametrize(
    ("gold", "reason"), [((), "has no gold"), (("z",), "'z' of the probe 'q' is not in the scope")]
)
def test_a_probe_without_a_gold_in_the_scope_is_refused_by_name_before_anything_is_ranked(
    gold, reason
):
    def never(items):
        raise AssertionError(items)

    with pytest.raises(QueryError, match=reason):
        distractor_robustness_curve({"a": "x"}, [Case("x", ("a",)), Case("q", gold)], never)


def test_the_gold_of_a_probe_is_never_its_own_distractor():
    drawn = []

    def ranker(items):
        drawn.append(set(items))
        return lambda query, k: ["a"]

    probes = [Case("q", ("a", "b"))]
    distractor_robustness_curve({"a": "", "b": "", "c": "", "d": ""}, probes, ranker, sizes=(2,))
    assert len(drawn) == 20
    assert all("a" in items and "b" not in items for items in drawn)
