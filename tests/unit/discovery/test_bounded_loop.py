"""The bounded loop, through `ir.AgenticRetrieval`: rounds, early ends and failures."""

from types import SimpleNamespace

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError
from tests.support.loops import EVERY, Answers, always, loop, retrieve, widths


def test_a_sufficient_round_ends_the_loop_at_once():
    result = loop(evaluator=Answers(False, True), max_rounds=5).run("q")
    assert (result.round_idx, result.top_k, result.reason) == (1, 20, "sufficient")
    assert result.sufficient
    assert loop(evaluator=always).run("q").round_idx == 0


def test_each_retry_is_wider_by_the_first_width_and_not_wider_than_allowed():
    assert widths(loop(max_rounds=4).run("q")) == [10, 20, 30, 40]
    assert widths(loop(max_rounds=4, max_top_k=25).run("q")) == [10, 20, 25, 25]
    assert widths(loop(max_rounds=3, top_k=4).run("q")) == [4, 8, 12]


def test_the_query_stays_as_it_is_where_nothing_reformulates_it():
    assert [each.query for each in loop(max_rounds=3).run("q").rounds] == ["q"] * 3


def test_a_reformulation_is_retrieved_with_and_judged_by_the_first_query():
    asked = []
    result = loop(
        retriever=lambda query, top_k: asked.append(query) or retrieve(query, top_k),
        evaluator=lambda query, chunks: {"is_sufficient": False, "missing": f"more of {query}"},
        reformulate=lambda query, evaluation: evaluation["missing"],
        max_rounds=3,
    ).run("q")
    assert asked == ["q", "more of q", "more of q"]
    assert result.query == "q"


def test_one_round_is_one_round():
    result = loop(max_rounds=1, reformulate=Answers()).run("q")
    assert (widths(result), result.reason) == ([10], "max_rounds")


def test_the_limit_holds_whatever_the_selector_returns():
    result = loop(selector=lambda chunks, query, selected_chunk_limit: EVERY[:40]).run("q")
    assert len(result.selected_chunks) == 5
    assert [each.n_selected for each in result.rounds] == [5, 5]


def test_no_more_candidates_are_taken_than_were_asked_for():
    result = loop(retriever=lambda query, top_k: EVERY, max_rounds=2).run("q")
    assert [each.n_candidates for each in result.rounds] == [10, 20]


def test_the_round_with_most_evidence_is_kept_not_the_last():
    judge = Answers(
        {"is_sufficient": False, "evidence": 1},
        {"is_sufficient": False, "evidence": 3.0},
        {"is_sufficient": False, "evidence": 2},
    )
    result = loop(evaluator=judge, max_rounds=3).run("q")
    assert (result.round_idx, result.top_k, result.reason) == (1, 20, "max_rounds")
    assert result.evaluation == {"is_sufficient": False, "evidence": 3.0}
    assert len(result.candidate_chunks) == 20
    assert not result.sufficient


def test_of_rounds_with_equal_evidence_the_earliest_is_kept():
    assert loop(max_rounds=3).run("q").round_idx == 0


def test_without_an_evaluators_word_the_scores_of_the_chunks_are_the_evidence():
    scored = [[{"id": 1, "score": 0.5}], [{"id": 2, "score": 0.4}, {"id": 3, "score": 0.3}]]
    result = loop(
        retriever=Answers(*scored),
        selector=lambda chunks, query, selected_chunk_limit: (
            [c for c in chunks if c["id"] > 1] or chunks
        ),
        top_k=1,
    ).run("q")
    assert [each.evidence for each in result.rounds] == [0.5, 0.7]
    assert result.round_idx == 1


def test_a_round_that_selected_something_is_kept_before_one_that_did_not():
    cold = [{"id": 1, "score": -2.0}]
    result = loop(retriever=Answers([], cold), reformulate=lambda query, evaluation: "other").run(
        "q"
    )
    assert result.selected_chunks == tuple(cold)


def test_the_policy_empty_gives_nothing_insufficient_and_everything_sufficient():
    assert loop(on_insufficient="empty").run("q").selected_chunks == ()
    assert loop(on_insufficient="best_effort").run("q").selected_chunks == tuple(EVERY[:5])
    for policy in ir.OnInsufficientPolicy:
        result = loop(evaluator=always, on_insufficient=policy).run("q")
        assert result.selected_chunks == tuple(EVERY[:5])


@pytest.mark.parametrize(
    "chunk",
    [
        lambda id, score: {"id": id, "text": f"text {score}", "score": score},
        lambda id, score: {"text": id, "score": score},
        lambda id, score: SimpleNamespace(content=id, score=score),
        lambda id, score: id,
    ],
)
def test_a_chunk_that_comes_again_counts_once(chunk):
    found = Answers([chunk("a", 1.0), chunk("b", 0.9)], [chunk("b", 0.8), chunk("c", 0.7)])
    result = loop(found, top_k=2, evaluator=Answers(False, True)).run("q")
    assert len(result.candidate_chunks) == 3
    twice = loop(Answers([chunk("a", 1.0), chunk("a", 1.0)]), evaluator=always, top_k=2).run("q")
    assert len(twice.selected_chunks) == 1


def test_what_a_later_round_finds_comes_before_what_was_known():
    found = Answers(["a", "b"], ["c", "a", "d"])
    result = loop(found, top_k=2, evaluator=Answers(False, True)).run("q")
    assert result.candidate_chunks == ("c", "a", "d", "b")


# -- early ends ----------------------------------------------------------------------------------


def test_a_retriever_that_finds_nothing_is_asked_once():
    result = loop(retriever=lambda query, top_k: [], max_rounds=5).run("q")
    assert (widths(result), result.reason, result.selected_chunks) == ([10], "exhausted", ())


def test_fewer_candidates_than_asked_for_end_the_loop():
    result = loop(retriever=lambda query, top_k: EVERY[:15], max_rounds=5).run("q")
    assert (widths(result), result.reason) == ([10, 20], "exhausted")


def test_as_wide_as_before_with_the_same_found_ends_the_loop():
    result = loop(max_rounds=8, max_top_k=25).run("q")
    assert (widths(result), result.reason) == ([10, 20, 25, 25], "unchanged")


def test_as_wide_as_before_with_something_new_goes_on():
    found = Answers(EVERY[:2], EVERY[2:4], EVERY[2:4])
    result = loop(found, top_k=2, max_top_k=2, max_rounds=8).run("q")
    assert (widths(result), result.reason) == ([2, 2, 2], "unchanged")


def test_another_query_is_asked_although_the_last_found_little():
    result = loop(
        retriever=lambda query, top_k: EVERY[:3] if query == "q" else EVERY[3:20],
        reformulate=lambda query, evaluation: "other words",
        evaluator=lambda query, chunks: len(chunks) == 5,
    ).run("q")
    assert (result.round_idx, result.sufficient) == (1, True)


# -- stages that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["retriever", "selector", "evaluator"])
def test_a_stage_that_fails_later_keeps_what_earlier_rounds_found(stage):
    fine = {"retriever": EVERY[:10], "selector": EVERY[:5], "evaluator": False}[stage]
    result = loop(**{stage: Answers(fine, ConnectionError("gone"))}, max_rounds=5).run("q")
    assert (result.round_idx, result.reason) == (0, "failed")
    assert result.selected_chunks == tuple(EVERY[:5])
    assert [each.error for each in result.rounds] == ["", "ConnectionError: gone"]


@pytest.mark.parametrize("stage", ["retriever", "selector"])
def test_a_stage_that_fails_before_anything_was_found_raises(stage):
    with pytest.raises(ConnectionError, match="gone"):
        loop(**{stage: Answers(ConnectionError("gone"))}).run("q")


def test_a_failing_evaluator_keeps_what_its_own_round_selected():
    result = loop(evaluator=Answers(TimeoutError("too slow"))).run("q")
    assert result.selected_chunks == tuple(EVERY[:5])
    assert (result.evaluation, result.sufficient, result.reason) == (None, False, "failed")
    assert result.rounds[0].error == "TimeoutError: too slow"
    with pytest.raises(TimeoutError):
        loop(lambda query, top_k: [], evaluator=Answers(TimeoutError())).run("q")


def test_a_failing_reformulation_keeps_its_round():
    result = loop(reformulate=Answers(OSError("no model"))).run("q")
    assert result.selected_chunks == tuple(EVERY[:5])
    assert [each.error for each in result.rounds] == ["OSError: no model"]
    assert "reformulation" in loop(reformulate=Answers(" ")).run("q").rounds[0].error


def test_the_policy_empty_holds_for_what_a_failure_left():
    result = loop(evaluator=Answers(False, OSError("x")), on_insufficient="empty").run("q")
    assert (result.selected_chunks, result.reason) == ((), "failed")


def test_an_interrupt_is_not_kept():
    def interrupted(query, top_k):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop(interrupted).run("q")


@pytest.mark.parametrize(
    "given", [None, [True], "yes", 1, {"sufficient": True}, {"is_sufficient": "no"}]
)
def test_what_is_no_evaluation_is_a_query_error_that_names_it(given):
    with pytest.raises(QueryError) as refused:
        loop(evaluator=lambda query, chunks: given).run("q")
    assert repr(given) in str(refused.value)
    kept = loop(evaluator=Answers(False, given)).run("q")
    assert kept.selected_chunks == tuple(EVERY[:5])
    assert repr(given) in kept.rounds[1].error


@pytest.mark.parametrize("given", [True, np.True_, {"is_sufficient": np.True_}])
def test_a_bool_or_a_mapping_with_one_is_an_evaluation(given):
    result = loop(evaluator=lambda query, chunks: given).run("q")
    assert result.sufficient
    assert result.evaluation == {"is_sufficient": True}


@pytest.mark.parametrize("stage", ["retriever", "selector"])
@pytest.mark.parametrize("given", [None, "text", 3, {"text": "a"}])
def test_what_is_no_list_of_chunks_is_a_query_error_that_names_the_stage(stage, given):
    with pytest.raises(QueryError, match=f"the {stage} must return a list of chunks"):
        loop(**{stage: Answers(given)}).run("q")
