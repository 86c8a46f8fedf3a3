"""Cases, measures, runs, sweeps, floors and comparisons, mostly against numbers made by hand."""

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.contrib.evaluate.cases import corpus_signature, validate_cases
from irdaemon.contrib.evaluate.choice import (
    Calibration,
    calibrate_min_score,
    evaluate_selection,
    floor_of,
)
from irdaemon.contrib.evaluate.evaluation import evaluate_corpora
from irdaemon.contrib.evaluate.generate import mask_name
from irdaemon.contrib.evaluate.ranking import evaluate_discovery, outcome
from irdaemon.contrib.evaluate.report import compare
from irdaemon.discovery.cases import Case, load_cases, parse_cases, save_cases
from irdaemon.types import Query
from tests.support.evaluation import hit, run
from tests.support.searching import engine_of, tool

# -- cases ---------------------------------------------------------------------------------------


def test_gold_may_be_one_id_and_a_line_of_meta_is_passed_over():
    cases = parse_cases(['{"__meta__": {"n": 1}}', '{"query": "a", "gold": "x"}', '{"query": "b"}'])
    assert [(case.query, case.gold) for case in cases] == [("a", ("x",)), ("b", ())]


@pytest.mark.parametrize(
    "line",
    [
        *("{", '{"gold": []}', "[]", '{"query": "a", "gold": 3}'),
        *('{"query": "a", "gold": {"x": -1}}', '{"query": "a", "gold": {"x": true}}'),
    ],
)
def test_a_broken_case_names_its_file_and_line(line):
    with pytest.raises(QueryError, match="cases:2"):
        parse_cases(['{"query": "fine"}', line])


def test_cases_come_back_as_they_were_saved(tmp_path):
    cases = [Case("a", ("x", "y"), "c", "s", {"k": 1}), Case("b")]
    save_cases(tmp_path / "f.jsonl", cases, {"made": "today"})
    assert load_cases(tmp_path / "f.jsonl") == cases


def test_gold_that_no_artifact_has_is_drift():
    assert validate_cases([Case("a", ("x",)), Case("b", ("y", "z"))], ["x", "y"]) == {1: ["z"]}


def test_a_signature_is_of_the_set_whatever_the_order():
    assert corpus_signature(["a", "b"]) == corpus_signature(["b", "a"]) != corpus_signature(["a"])


def test_grades_come_back_as_they_were_saved_and_what_is_judged_no_answer_is_no_gold(tmp_path):
    case = Case.from_dict({"query": "a", "gold": {"x": 2, "y": 1, "z": 0}})
    assert (case.gold, case.relevance) == (("x", "y"), {"x": 2.0, "y": 1.0})
    save_cases(tmp_path / "f.jsonl", [case])
    assert load_cases(tmp_path / "f.jsonl") == [case]


def test_a_file_without_a_case_is_named(tmp_path):
    (tmp_path / "f.jsonl").write_text('{"__meta__": {}}\n\n')
    with pytest.raises(QueryError, match="no cases"):
        load_cases(tmp_path / "f.jsonl")


# -- runs ----------------------------------------------------------------------------------------


def test_each_outcome_has_its_name():
    assert outcome(run("a", hit("a"))) == "hit_rank_1"
    assert outcome(run("a", hit("b"), hit("a"))) == "surfaced_low_rank"
    assert outcome(run("a", hit("b"))) == "retrieval_miss"
    assert outcome(run((), hit("b", 0.2))) == "abstention_unscored"
    assert outcome(run((), hit("b", 0.2)), threshold=0.3) == "abstention_ok"
    assert outcome(run((), hit("b", 0.4)), threshold=0.3) == "false_action"


def test_a_hit_that_stands_for_a_copy_of_the_gold_counts_as_the_gold():
    assert run(["b"], hit("a", duplicates=("c/b",))).ranked == ["b"]


def test_selection_is_judged_only_where_the_gold_was_retrieved():
    runs = [
        run("a", hit("a"), hit("b"), committed="a"),
        run("a", hit("a"), hit("b"), committed="ab"),
        run("a", hit("a"), committed=()),
        run("z", hit("a"), committed="a"),
        run((), hit("a"), committed=()),
    ]
    told = evaluate_selection(runs)
    assert (told.n_retrieved, told.n_retrieval_miss) == (3, 1)
    assert told.commit_rate == pytest.approx(2 / 3, abs=1e-4)
    assert told.precision == pytest.approx((1 + 0.5) / 2)
    assert told.f1 == pytest.approx((1 + 2 / 3 + 0) / 3, abs=1e-4)
    assert (told.abstention_accuracy, told.j) == (1.0, 0.75)


def test_a_report_without_gold_or_without_cases_has_no_numbers_and_no_error():
    none = evaluate_discovery([])
    assert (none.measures, none.per_query, none.primary) == ({}, {}, None)
    assert "n/a" in str(none)
    assert "nan" not in str(none)
    assert evaluate_selection([run((), hit("a"))]).f1 is None


def test_an_engine_is_evaluated_through_the_answers_that_people_get():
    engine = engine_of({"fill": tool("Fill a pdf form"), "deploy": tool("Deploy to the cloud")})
    told = evaluate_corpora(
        engine, [Case("fill in a pdf form", ("fill",)), Case("x", ("gone",))], Query("")
    )
    assert told["discovery"]["measures"]["recall@1"] == 0.5
    assert told["drift"] == {"cases": 1, "missing": ["gone"]}


# -- floors --------------------------------------------------------------------------------------

scores = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=12)


@given(scores, scores)
def test_no_floor_separates_better_than_the_one_found_and_ties_go_up(inside, outside):
    found = floor_of(inside, outside)

    def j(floor):
        caught = sum(s >= floor for s in inside) / len(inside)
        return caught + sum(s < floor for s in outside) / len(outside) - 1

    assert j(found.floor) == pytest.approx(found.j)
    distinct = sorted({*inside, *outside})
    between = [(a + b) / 2 for a, b in pairwise(distinct)]
    for floor in [distinct[0] - 1e-6, *between, distinct[-1] + 1e-6]:
        assert j(floor) <= found.j + 1e-9
        assert j(floor) < found.j - 1e-9 or floor <= found.floor


def test_a_missing_class_gives_no_floor_and_says_which():
    assert floor_of([0.5], []).floor is None
    assert "answerable" in floor_of([], [0.5]).reason


def test_a_query_without_any_hit_counts_as_below_every_floor():
    found = floor_of([0.9, None], [None, 0.1])
    assert (found.sensitivity, found.specificity) == (0.5, 1.0)


def test_a_calibration_is_plain_data_even_where_nothing_was_found():
    told = floor_of([0.9], [None, None]).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["spread"]["outside"] == []


def test_floors_to_try_may_be_given_and_each_is_told_with_how_it_did():
    found = floor_of([0.6, 0.8], [0.1, 0.3], grid=[0.7, 0.2, 0.5])
    assert found.floor == 0.5
    assert [(row["floor"], row["j"]) for row in found.grid] == [(0.2, 0.5), (0.5, 1.0), (0.7, 0.5)]


@pytest.mark.parametrize("grid", [[], [0.1, math.inf], [math.nan], ["0.1"]])
def test_floors_to_try_that_are_none_are_refused(grid):
    with pytest.raises(QueryError, match="floor"):
        floor_of([0.6], [0.1], grid=grid)


def test_a_calibration_comes_back_from_plain_data_and_reads_as_text():
    found = floor_of([0.6, 0.8], [0.1])
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert "Calibration: floor 0.35" in str(found)
    assert "no floor, no queries" in str(floor_of([], []))


def test_a_weight_prefers_one_kind_of_mistake():
    inside, outside = [0.3, 0.6], [0.1, 0.5]
    assert floor_of(inside, outside, weight=0.9).sensitivity == 1.0
    assert floor_of(inside, outside, weight=0.1).specificity == 1.0


def test_cases_whose_gold_was_not_retrieved_say_nothing_about_the_floor():
    runs = [run("a", hit("a", 0.8)), run("z", hit("a", 0.1)), run((), hit("a", 0.3))]
    found = calibrate_min_score(runs)
    assert (found.n_inside, found.n_outside, found.separable) == (1, 1, True)
    assert found.n_retrieval_miss == 1


# -- comparison ------------------------------------------------------------------------------------


def test_a_difference_on_few_cases_is_luck_and_the_same_on_many_is_not():
    good, bad = run("a", hit("a")), run("a", hit("b"), hit("a"))
    assert compare([good] * 2, [bad] * 2).p > 0.1
    found = compare([good] * 30, [bad] * 30)
    assert found.p < 0.01
    assert found.difference == pytest.approx(1 - 1 / math.log2(3))
    assert compare([good] * 9, [good] * 9).p == 1


def test_a_comparison_counts_what_became_better_and_worse_with_an_interval():
    good, bad = run("a", hit("a")), run("a", hit("b"), hit("a"))
    found = compare([good] * 5 + [bad], [bad] * 5 + [good], "mrr")
    assert (found.n, found.better, found.worse, found.measure) == (6, 5, 1, "mrr@10")
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.to_dict()["difference"] == found.difference == pytest.approx(1 / 3)
    assert "mrr@10 +0.3333" in str(found)


def test_runs_over_other_cases_are_not_compared():
    with pytest.raises(QueryError, match="the same cases"):
        compare([run("a", query="one")], [run("a", query="two")])
    with pytest.raises(QueryError, match="unknown measure"):
        compare([], [], "beauty")


def test_the_library_offers_evaluation_under_its_short_names():
    assert ir.eval.load_cases is load_cases
    assert ir.eval_gen.mask_name is mask_name
