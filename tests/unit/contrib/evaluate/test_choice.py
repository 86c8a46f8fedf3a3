"""How good selections are."""

import json

from irdaemon.contrib.evaluate.choice import evaluate_selection
from tests.support.evaluation import hit, run

RUNS = [
    run("a", hit("a"), committed="a"),
    run("a", hit("b"), hit("a"), committed="b"),
    run("z", hit("a"), committed="a"),
    run((), hit("a"), committed=()),
]


def test_a_selection_is_counted_only_where_it_could_have_been_right():
    found = evaluate_selection(RUNS)
    assert (found.n, found.n_gold, found.n_retrieved, found.n_retrieval_miss) == (4, 3, 2, 1)
    assert (found.commit_rate, found.f1, found.f1_all) == (0.5, 0.5, 0.3333)


def test_means_over_cases_have_intervals_and_what_is_made_of_them_has_none():
    found = evaluate_selection(RUNS)
    assert found.intervals["f1"] == (0.0, 1.0)
    assert not {"j", "mean_committed"} & found.intervals.keys()
    assert evaluate_selection(RUNS, with_intervals=False).intervals == {}


def test_gold_named_twice_is_to_be_found_once():
    assert evaluate_selection([run(["a", "a"], hit("a"), committed="a")]).f1_all == 1.0


def test_a_report_is_plain_data_and_reads_as_text():
    found = evaluate_selection(RUNS)
    assert json.loads(json.dumps(found.to_dict()))["n_retrieval_miss"] == 1
    assert "SelectionReport: 4 cases, 3 with gold, 2 with it" in str(found)
    assert "j n/a" in str(evaluate_selection([]))
