"""Accuracy as a catalogue grows."""

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.curve import curve_of_ranks, distractor_robustness_curve
from irdaemon.discovery.cases import Case


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


def test_from_ranks_the_gold_is_first_as_often_as_nothing_before_it_is_drawn():
    assert curve_of_ranks([1], 10, (1, 5, 10)) == {1: 1.0, 5: 1.0, 10: 1.0}
    assert curve_of_ranks([2], 10, (1, 4, 10)) == {1: 1.0, 4: 0.6667, 10: 0.0}
    assert curve_of_ranks([None, 1], 3, (1, 3)) == {1: 1.0, 3: 0.5}
    assert curve_of_ranks([], 3, (1, 8)) == {1: 0.0, 3: 0.0}


def test_ranks_give_the_curve_that_drawing_comes_near_to():
    scope = {f"item{n}": str(n) for n in range(12)}

    def ranker(items):
        return lambda query, k: sorted(items, key=lambda each: int(items[each]))[:k]

    probes = [Case("q", ("item3",)), Case("q", ("item1",))]
    drawn = distractor_robustness_curve(scope, probes, ranker, sizes=(2, 4, 12), trials=800)
    expected = curve_of_ranks([4, 2], 12, (2, 4, 12))
    assert drawn == {size: pytest.approx(share, abs=0.05) for size, share in expected.items()}


def test_a_catalogue_of_nothing_is_refused():
    with pytest.raises(QueryError, match="one item at least"):
        curve_of_ranks([1], 10, (0, 4))
