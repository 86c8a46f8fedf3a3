"""`ir.AgenticRetrieval`: the bounded loop of the reference, and where it does better."""

import dataclasses
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irclient.types import Round

EVERY = [f"chunk {number}" for number in range(200)]


def retrieve(query, top_k):
    return EVERY[:top_k]


def first(chunks, query, selected_chunk_limit):
    return chunks[:selected_chunk_limit]


def never(query, chunks):
    return {"is_sufficient": False}


def always(query, chunks):
    return {"is_sufficient": True}


def loop(retriever=retrieve, selector=first, evaluator=never, **more):
    return ir.AgenticRetrieval(retriever, selector, evaluator, **more)


def widths(result):
    return [each.top_k for each in result.rounds]


class Answers:
    """Give one answer after the other; an exception among them is raised."""

    def __init__(self, *answers):
        self.left = list(answers)

    def __call__(self, *args, **named):
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


# -- the reference's own calls -------------------------------------------------------------------


def test_the_pipeline_is_made_and_built_as_the_reference_writes_it():
    made = ir.AgenticRetrievalPipeline(
        retriever=retrieve,
        selector=first,
        evaluator=always,
        max_rounds=2,
        top_k=10,
        max_top_k=None,
        selected_chunk_limit=5,
        on_insufficient=ir.OnInsufficientPolicy.BEST_EFFORT,
    )
    run = made.build()
    assert run("anything") == made.run("anything") == made("anything")
    assert run("anything").selected_chunks == tuple(EVERY[:5])


def test_parameters_that_are_left_out_have_the_references_defaults():
    made = ir.AgenticRetrieval(retrieve, first, never)
    assert (made.max_rounds, made.top_k, made.max_top_k) == (2, 10, None)
    assert (made.selected_chunk_limit, made.on_insufficient) == (5, "best_effort")
    assert made.reformulate is None


def test_a_policy_is_a_text_or_its_name():
    policy = ir.OnInsufficientPolicy
    assert [policy.BEST_EFFORT, policy.EMPTY] == ["best_effort", "empty"]
    assert loop(on_insufficient="empty").on_insufficient is policy.EMPTY


# -- construction --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_rounds", "top_k", "max_top_k", "selected_chunk_limit"])
@pytest.mark.parametrize("value", [0, -1, True, 2.0, "3"])
def test_a_number_that_is_none_or_below_one_is_refused_by_name(name, value):
    with pytest.raises(QueryError, match=f"{name} must be a whole number of at least 1"):
        loop(**{name: value})
    assert issubclass(QueryError, ValueError)


@pytest.mark.parametrize("name", ["max_rounds", "top_k", "selected_chunk_limit"])
def test_a_number_of_numpy_counts_and_none_does_not(name):
    assert getattr(loop(**{name: np.int64(3)}), name) == 3
    with pytest.raises(QueryError, match=name):
        loop(**{name: None})


def test_a_widest_retrieval_below_the_first_is_refused():
    with pytest.raises(QueryError, match=r"max_top_k \(9\) is below top_k \(10\)"):
        loop(max_top_k=9)
    assert loop(max_top_k=10).max_top_k == 10


@pytest.mark.parametrize("policy", ["best-effort", "", None, ["empty"]])
def test_an_unknown_policy_is_refused_with_those_there_are(policy):
    with pytest.raises(QueryError, match="on_insufficient") as refused:
        loop(on_insufficient=policy)
    assert refused.value.hint == "use one of: best_effort, empty"


@pytest.mark.parametrize("stage", ["retriever", "selector", "evaluator", "reformulate"])
@pytest.mark.parametrize("given", [3, object(), ["a"], "no corpus of that name", list])
def test_what_is_no_stage_is_a_type_error(stage, given):
    with pytest.raises(TypeError):
        loop(**{stage: given})


@pytest.mark.parametrize("stage", ["retriever", "selector", "evaluator"])
def test_none_is_no_stage(stage):
    with pytest.raises(TypeError, match=f"the {stage} must be a callable"):
        loop(**{stage: None})


def test_a_stage_that_does_not_take_its_arguments_is_refused_at_once():
    with pytest.raises(TypeError, match=r"selector must take \(chunks, query, selected_chunk"):
        loop(selector=lambda chunks: chunks)


@pytest.mark.parametrize("query", ["", "  ", None, 3, ["words"]])
def test_a_query_without_words_is_refused(query):
    with pytest.raises(QueryError, match="a query is a text with words"):
        loop().run(query)


# -- rounds --------------------------------------------------------------------------------------


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


# -- the result ----------------------------------------------------------------------------------


def test_a_result_tells_every_round_and_is_plain_data():
    plain = loop(max_rounds=2).run("q").to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == [
        *("query", "initial_top_k", "top_k", "round_idx", "candidate_chunks"),
        *("selected_chunks", "evaluation", "rounds", "reason"),
    ]
    assert (plain["initial_top_k"], plain["top_k"], plain["round_idx"]) == (10, 10, 0)
    assert plain["rounds"][1] == Round("q", 20, 20, 5, False, 5.0, "").to_dict()


def test_a_result_cannot_be_changed():
    result = loop().run("q")
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.top_k = 3
    assert all(isinstance(each, tuple) for each in (result.candidate_chunks, result.rounds))


def test_a_stage_may_run_the_same_loop():
    depth = []

    def nested(query, chunks):
        depth.append(query)
        return query == "inner" or outer.run("inner").sufficient

    outer = loop(evaluator=nested)
    result = outer.run("outer")
    assert depth == ["outer", "inner"]
    assert (result.query, result.round_idx, len(result.rounds)) == ("outer", 0, 1)


# -- corpora as stages ---------------------------------------------------------------------------

TOOLS = {
    "pdf": {"description": "Fill in and flatten PDF forms", "text": "the long manual"},
    "csv": {"description": "Clean up spreadsheets and CSV files"},
    "git": {"description": "Write commits and resolve merge conflicts"},
}


@pytest.fixture
def tools():
    source = ir.CorpusSource.from_mapping(TOOLS, name="loop-tools")
    built = ir.build(source, store=":memory:", embedder="hashing")
    yield built
    built.close()


def test_a_corpus_retrieves_selects_and_judges_without_a_model(tools):
    result = ir.AgenticRetrieval(tools, tools, tools).run("fill in PDF forms")
    assert result.sufficient
    assert [hit.artifact_id for hit in result.selected_chunks] == ["pdf"]
    (payload,) = ir.disclose(result.selected_chunks)
    assert payload.body == "the long manual"


def test_a_corpus_finds_a_part_that_nothing_selected_serves(tools):
    query = "fill in PDF forms, and clean up spreadsheets"
    result = ir.AgenticRetrieval(tools, lambda chunks, query, limit: chunks[:1], tools).run(query)
    assert not result.sufficient
    (unserved,) = result.evaluation["unserved"]
    assert unserved in query


def test_what_the_corpus_finds_missing_can_be_retrieved_next(tools):
    result = ir.AgenticRetrieval(
        tools,
        lambda chunks, query, limit: chunks[:1],
        tools,
        reformulate=lambda query, evaluation: "; ".join(evaluation["unserved"]),
    ).run("fill in PDF forms, and clean up spreadsheets")
    assert result.rounds[0].query == "fill in PDF forms, and clean up spreadsheets"
    assert result.rounds[1].query in ("fill in PDF forms", "clean up spreadsheets")


@pytest.mark.parametrize("query", ["zebra quantum chromodynamics", "yes go on", "go on. undo it"])
def test_what_discover_abstains_from_is_insufficient(tools, query):
    assert not tools.discover(query).sufficient
    assert not ir.AgenticRetrieval(tools, tools, tools).run(query).sufficient


def test_a_corpus_does_not_judge_chunks_of_another_retriever(tools):
    for stages in ((retrieve, tools, never), (retrieve, first, tools)):
        with pytest.raises(QueryError, match="a corpus selects and judges hits, not 'chunk 0'"):
            ir.AgenticRetrieval(*stages).run("q")


def test_the_example_of_the_guide_prints_what_it_says(monkeypatch, capsys):
    guide = (Path(__file__).parents[3] / "docs/rounds.md").read_text("utf-8")
    code = guide.partition("```python\n")[2].partition("```")[0]
    built = partial(ir.build, store=":memory:", embedder="hashing")
    monkeypatch.setattr(ir, "build", built)
    exec(code, {})
    said = [line.removeprefix("# -> ") for line in code.splitlines() if line.startswith("# -> ")]
    assert capsys.readouterr().out.splitlines() == said
    ir.open_corpus("tools").close()
