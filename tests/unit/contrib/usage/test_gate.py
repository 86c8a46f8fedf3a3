from irdaemon.contrib.usage.taught import weigh_uses
from irdaemon.engine.trial import Asked, measure_each, measure_gain


def test_what_ranks_better_in_the_mean_is_better():
    assert measure_gain([0.5, 0.4, 0.6, 0.5], [0.7, 0.6, 0.5, 0.9]).better
    assert not measure_gain([0.5, 0.5, 0.5, 0.5], [0.9, 0.4, 0.3, 0.3]).better


def test_no_change_is_neither_better_nor_worse():
    same = measure_gain([0.5, 0.7], [0.5, 0.7])
    assert not same.better
    assert not same.worse


def test_a_loss_within_the_interval_of_what_it_was_is_not_worse_and_one_beyond_is():
    before = [1.0, 0.9, 1.0, 0.8] * 25
    assert not measure_gain(before, [each - 0.005 for each in before]).worse
    assert measure_gain(before, [each - 0.1 for each in before]).worse


def test_uses_of_what_is_not_learned_of_yet_count_as_often_as_they_will_among_all():
    weights = weigh_uses([True, False, False, False], 0.75)
    assert [round(each / sum(weights), 4) for each in weights] == [0.75, 0.0833, 0.0833, 0.0833]
    assert measure_gain([0.5] * 4, [0.7, 0.4, 0.4, 0.4], weights).better
    assert not measure_gain([0.5] * 4, [0.7, 0.4, 0.4, 0.4]).better


def test_where_all_or_none_is_learned_of_every_use_counts_the_same():
    assert weigh_uses([True, True], 0.9) == weigh_uses([False, False], 0.1) == [1.0, 1.0]


def test_without_queries_nothing_is_gained():
    none = measure_gain([], [])
    assert (none.n, none.better, none.worse) == (0, False, False)


def test_each_text_is_ranked_and_measured_against_its_own_gold():
    answers = {"a": ["x", "y"], "b": ["x", "y"]}
    asked = [Asked("a", ("x",)), Asked("b", ("z",))]
    assert measure_each(None, asked, lambda index, text: answers[text]) == [1.0, 0.0]
