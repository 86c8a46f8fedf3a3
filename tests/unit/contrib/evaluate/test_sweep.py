"""Many selectors tried on the candidates of one pass."""

import json

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.choice import Grid, sweep_selector
from tests.support.evaluation import hit, run


def test_a_sweep_selects_anew_without_searching_and_prefers_the_smaller_of_equals():
    runs = [run("a", hit("a", 1.0), hit("b", 0.95)), run("b", hit("b", 1.0), hit("a", 0.5))]
    best = sweep_selector(runs).best()
    assert (best.spec.max_k, best.spec.rel) == (1, 0.9)
    assert best.report.f1 == 1.0


def test_a_sweep_has_a_cell_for_each_combination():
    cells = sweep_selector([run("a", hit("a"))], max_k=(1, 3, 5), rel=(0.5, 0.7)).cells
    tried = [(cell.spec.max_k, cell.spec.rel, cell.spec.min_score) for cell in cells]
    assert tried == [(k, rel, None) for k in (1, 3, 5) for rel in (0.5, 0.7)]


def test_a_cell_without_a_value_is_the_worst():
    runs = [run("a", hit("a", 0.3))]
    sweep = sweep_selector(runs, max_k=(1,), rel=(0.5,), min_score=(0.9, None))
    assert sweep.cells[0].report.precision is None
    assert sweep.best("precision") is sweep.cells[1]


def test_the_frontier_holds_only_what_no_other_cell_beats():
    runs = [run("ab", hit("a", 1.0), hit("x", 0.9), hit("b", 0.8))]
    frontier = sweep_selector(runs).frontier()
    points = [(cell.report.recall, cell.report.precision) for cell in frontier]
    assert points == sorted(points)
    assert (0.5, 1.0) in points
    assert "min_score" not in sweep_selector(runs).table()


def test_an_unknown_measure_or_an_empty_sweep_is_refused():
    with pytest.raises(QueryError):
        sweep_selector([run("a", hit("a"))]).best("beauty")
    with pytest.raises(QueryError):
        sweep_selector([], max_k=()).best()


def test_a_floor_that_is_swept_shows_in_the_table_and_abstains():
    runs = [run("a", hit("a", 0.3)), run((), hit("b", 0.2))]
    sweep = sweep_selector(runs, max_k=(1,), rel=(0.5,), min_score=(None, 0.25))
    assert "min_score" in sweep.table().splitlines()[0]
    by_floor = {cell.spec.min_score: cell.report.abstention_accuracy for cell in sweep.cells}
    assert by_floor == {None: 0.0, 0.25: 1.0}


def test_the_best_by_size_commits_least():
    runs = [run("a", hit("a", 1.0), hit("b", 0.99))]
    best = sweep_selector(runs).best("mean_committed")
    assert best.report.mean_committed == 1.0


def test_the_objective_chooses_the_best_and_an_unknown_one_is_refused_before_anything_is_tried():
    runs = [run("ab", hit("a", 1.0), hit("x", 0.9), hit("b", 0.8))]
    assert sweep_selector(runs, objective="recall").best().spec.max_k == 3
    assert sweep_selector(runs, objective="precision").best().spec.max_k == 1
    with pytest.raises(QueryError, match="beauty"):
        sweep_selector(runs, objective="beauty")
    with pytest.raises(QueryError, match="beauty"):
        sweep_selector(runs).frontier(x="beauty")


def test_a_sweep_is_plain_data_and_reads_as_text():
    sweep = sweep_selector([run("a", hit("a", 1.0))], max_k=(1, 5), rel=(0.6,))
    plain = json.loads(json.dumps(sweep.to_dict()))
    assert (plain["objective"], plain["best"]["max_k"], len(plain["cells"])) == ("f1", 1, 2)
    assert "Sweep: 2 selectors; best (f1): max_k 1, rel 0.6\n" in str(sweep)
    assert sweep_selector([], max_k=()).to_dict()["best"] is None


@pytest.mark.parametrize("grid", [{"max_q": [1]}, {"rel": 0.5}, {"max_k": [0]}, {"rel": [2]}])
def test_a_grid_that_cannot_be_is_refused(grid):
    with pytest.raises(QueryError):
        assert Grid.from_dict(grid).specs


def test_a_grid_has_the_usual_values_of_what_is_left_out():
    assert len(Grid.from_dict({"max_k": [1, 2]}).specs) == 2 * 6
    with pytest.raises(QueryError, match="10,000"):
        assert Grid(rel=(0.5,) * 2_001).specs
