"""Cases, measures, runs, sweeps, floors and comparisons, mostly against numbers made by hand."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irdaemon as ir
from irclient.errors import QueryError
from irdaemon.evaluate import (
    Case,
    Catalogue,
    calibrate_min_score,
    compare,
    corpus_signature,
    distractor_robustness_curve,
    evaluate_discovery,
    evaluate_selection,
    floor_of,
    generate_abstentions,
    generate_cases,
    load_cases,
    outcome,
    parse_cases,
    save_cases,
    sweep_selector,
    validate_cases,
)
from irdaemon.evaluate.generate import gives_away, mask_name
from irdaemon.evaluate.measures import MEASURES, average_precision, ndcg, precision, recall
from irdaemon.evaluate.runs import Run
from irdaemon.types import Hit, Query
from tests.support.tools import engine_of, tool


def hit(id, score=1.0, copies=()):
    return Hit("c", id, id, "document", score, {}, "", "", {}, copies)


def run(gold, *hits, committed=(), query="q"):
    chosen = tuple(committed)
    return Run(Case(query, tuple(gold)), tuple(hits), chosen, not chosen, None)


# -- cases ---------------------------------------------------------------------------------------


def test_gold_may_be_one_id_and_a_line_of_meta_is_passed_over():
    cases = parse_cases(['{"__meta__": {"n": 1}}', '{"query": "a", "gold": "x"}', '{"query": "b"}'])
    assert [(case.query, case.gold) for case in cases] == [("a", ("x",)), ("b", ())]


@pytest.mark.parametrize("line", ["{", '{"gold": []}', "[]", '{"query": "a", "gold": 3}'])
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


# -- measures ------------------------------------------------------------------------------------


def test_measures_are_what_the_hand_computes():
    ranked, gold = ["a", "x", "b", "y"], {"x", "y"}
    ideal = 1 + 1 / math.log2(3)
    assert ndcg(ranked, gold, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert (recall(ranked, gold, 2), precision(ranked, gold, 10)) == (0.5, 0.2)
    assert average_precision(ranked, gold, 10) == pytest.approx((1 / 2 + 2 / 4) / 2)


@given(st.permutations("abcdefgh"), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_every_measure_lies_between_0_and_1_and_a_perfect_ranking_gains_1(ranked, gold):
    for measure in MEASURES.values():
        assert 0 <= measure(ranked, gold, 5) <= 1
    perfect = sorted(ranked, key=lambda each: each not in gold)
    assert ndcg(perfect, gold, 8) == pytest.approx(1)
    assert average_precision(perfect, gold, 8) == pytest.approx(1)


# -- runs ----------------------------------------------------------------------------------------


def test_each_outcome_has_its_name():
    assert outcome(run("a", hit("a"))) == "hit_rank_1"
    assert outcome(run("a", hit("b"), hit("a"))) == "surfaced_low_rank"
    assert outcome(run("a", hit("b"))) == "retrieval_miss"
    assert outcome(run((), hit("b", 0.2))) == "abstention_unscored"
    assert outcome(run((), hit("b", 0.2)), threshold=0.3) == "abstention_ok"
    assert outcome(run((), hit("b", 0.4)), threshold=0.3) == "false_action"


def test_a_hit_that_stands_for_a_copy_of_the_gold_counts_as_the_gold():
    assert run(["b"], hit("a", copies=("c/b",))).ranked == ["b"]


def test_gold_may_be_a_name_or_the_end_of_a_path_where_that_is_one_artifacts():
    catalogue = Catalogue()
    catalogue.add([("docs/fill", "Fill"), ("a/merge", "m"), ("b/merge", "n")])
    meant = catalogue.resolved(Case("q", ("fill", "Fill", "merge", "b/merge", "gone")))
    assert meant.gold == ("docs/fill", "docs/fill", "merge", "b/merge", "gone")


def test_selection_is_judged_only_where_the_gold_was_retrieved():
    runs = [
        run("a", hit("a"), hit("b"), committed="a"),
        run("a", hit("a"), hit("b"), committed="ab"),
        run("a", hit("a"), committed=()),
        run("z", hit("a"), committed="a"),
        run((), hit("a"), committed=()),
    ]
    told = evaluate_selection(runs)
    assert told["n_retrieved"] == 3
    assert told["commit_rate"] == pytest.approx(2 / 3, abs=1e-4)
    assert told["precision"] == pytest.approx((1 + 0.5) / 2)
    assert told["f1"] == pytest.approx((1 + 2 / 3 + 0) / 3, abs=1e-4)
    assert (told["abstention_accuracy"], told["j"]) == (1.0, 0.75)


def test_a_report_without_gold_or_without_cases_has_no_numbers_and_no_error():
    assert evaluate_discovery([])["measures"] == {}
    assert evaluate_selection([run((), hit("a"))])["f1"] is None


def test_an_engine_is_evaluated_through_the_answers_that_people_get():
    engine = engine_of({"fill": tool("Fill a pdf form"), "deploy": tool("Deploy to the cloud")})
    told = engine.evaluate([Case("fill in a pdf form", ("fill",)), Case("x", ("gone",))], Query(""))
    assert told["discovery"]["measures"]["recall@1"] == 0.5
    assert told["drift"] == {"cases": 1, "missing": ["gone"]}


# -- sweep ---------------------------------------------------------------------------------------


def test_a_sweep_selects_anew_without_searching_and_prefers_the_smaller_of_equals():
    runs = [run("a", hit("a", 1.0), hit("b", 0.95)), run("b", hit("b", 1.0), hit("a", 0.5))]
    best = sweep_selector(runs).best()
    assert (best.spec.max_k, best.spec.rel) == (1, 0.9)
    assert best.report["f1"] == 1.0


def test_the_frontier_holds_only_what_no_other_cell_beats():
    runs = [run("ab", hit("a", 1.0), hit("x", 0.9), hit("b", 0.8))]
    frontier = sweep_selector(runs).frontier()
    points = [(cell.report["recall"], cell.report["precision"]) for cell in frontier]
    assert points == sorted(points)
    assert (0.5, 1.0) in points
    assert "min_score" not in sweep_selector(runs).table()


def test_an_unknown_measure_or_an_empty_sweep_is_refused():
    with pytest.raises(QueryError):
        sweep_selector([run("a", hit("a"))]).best("beauty")
    with pytest.raises(QueryError):
        sweep_selector([], max_k=()).best()


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


def test_cases_whose_gold_was_not_retrieved_say_nothing_about_the_floor():
    runs = [run("a", hit("a", 0.8)), run("z", hit("a", 0.1)), run((), hit("a", 0.3))]
    found = calibrate_min_score(runs)
    assert (found.n_inside, found.n_outside, found.separable) == (1, 1, True)


# -- comparison, curve, generation ---------------------------------------------------------------


def test_a_difference_on_few_cases_is_luck_and_the_same_on_many_is_not():
    good, bad = run("a", hit("a")), run("a", hit("b"), hit("a"))
    assert compare([good] * 2, [bad] * 2).p > 0.1
    found = compare([good] * 30, [bad] * 30)
    assert found.p < 0.01
    assert found.difference == pytest.approx(1 - 1 / math.log2(3))
    assert compare([good] * 9, [good] * 9).p == 1


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


@pytest.mark.parametrize("said", ["fill-pdf", "Fill PDF", "fill_pdf", "fillpdf"])
def test_a_name_is_masked_however_its_words_are_joined(said):
    assert mask_name(f"Use {said} now", "fill-pdf") == "Use this capability now"
    assert gives_away(f"how does {said} work", "fill-pdf")
    assert gives_away("a pdf to fill", "fill-pdf")
    assert not gives_away("fill a form", "fill-pdf")


def test_generated_cases_leave_out_queries_that_give_the_name_away():
    said = "- fill a form\n2. use fill-pdf"
    cases = generate_cases({"x": ("fill-pdf", "Fills any form in a file.")}, lambda _: said)
    assert [(case.query, case.gold) for case in cases] == [("fill a form", ("x",))]
    assert generate_cases({"x": ("n", "short")}, lambda _: "q") == []


def test_abstentions_are_their_share_of_all_cases_together():
    lines = [f"request {n}" for n in range(50)]
    assert len(generate_abstentions(85, lambda _: lines, "skills")) == 15


def test_the_library_offers_evaluation_under_its_short_names():
    assert ir.eval.load_cases is load_cases
    assert ir.eval_gen.generate_cases is generate_cases
