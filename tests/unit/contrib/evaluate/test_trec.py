"""TREC's files, in and out."""

import ir_measures
import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.ranking import (
    cases_of,
    evaluate_discovery,
    read_qrels,
    read_run,
    runs_of,
    write_qrels,
    write_run,
)
from tests.support.evaluation import hit, run

RUNS = [
    run({"a": 2, "b": 1}, hit("x y", 0.5), hit("b", 0.5), hit("a", 0.5)),
    run((), hit("a")),
    run("z", hit("a")),
]


def test_what_is_written_is_read_again_in_its_order_and_with_its_grades(tmp_path):
    write_qrels(tmp_path / "qrels", [each.case for each in RUNS])
    write_run(tmp_path / "run", RUNS)
    assert read_qrels(tmp_path / "qrels") == {"q00000": {"a": 2, "b": 1}, "q00002": {"z": 1}}
    ranked = read_run(tmp_path / "run")
    assert ranked == {"q00000": ["x y", "b", "a"], "q00001": ["a"], "q00002": ["a"]}
    again = runs_of(ranked, [each.case for each in RUNS])
    assert evaluate_discovery(again).measures == evaluate_discovery(RUNS).measures


def test_an_independent_library_finds_the_same_means_in_the_files(tmp_path):
    write_qrels(tmp_path / "qrels", [each.case for each in RUNS])
    write_run(tmp_path / "run", RUNS)
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    written = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    measures = {"ndcg@10": ir_measures.nDCG @ 10, "map@10": ir_measures.AP @ 10}
    found = ir_measures.calc_aggregate(measures.values(), qrels, written)
    ours = evaluate_discovery(RUNS).measures
    for name, measure in measures.items():
        assert ours[name] == pytest.approx(found[measure], abs=1e-4)


def test_topics_with_their_qrels_are_cases_and_what_was_judged_no_answer_is_no_gold(tmp_path):
    (tmp_path / "qrels").write_text("7 0 a 2\n7 0 b 0\n")
    cases = cases_of({"7": "fill a form", "8": "bake bread"}, read_qrels(tmp_path / "qrels"))
    assert [(case.query, case.relevance) for case in cases] == [
        ("fill a form", {"a": 2.0}),
        ("bake bread", {}),
    ]


def test_a_query_that_another_program_has_no_ranking_for_found_nothing():
    (only,) = runs_of({}, [RUNS[0].case])
    assert (only.ranked, only.committed, only.rank) == ([], (), None)


@pytest.mark.parametrize("line", ["q0 0 a", "q0 0 a much", "q0 0 a 1 2 3"])
def test_a_line_of_another_form_is_named(tmp_path, line):
    (tmp_path / "qrels").write_text(f"q0 0 a 1\n{line}\n")
    with pytest.raises(QueryError, match="qrels:2"):
        read_qrels(tmp_path / "qrels")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(QueryError, match="nowhere"):
        read_run(tmp_path / "nowhere")
