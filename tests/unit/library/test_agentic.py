"""`ir.AgenticRetrieval`: the bounded loop of the reference, and where it does better."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import irdaemon as ir
from irclient.errors import QueryError
from irclient.types import Round
from tests.support.built import hold
from tests.support.loops import EVERY, always, first, loop, never, retrieve

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
    with hold(TOOLS, name="loop-tools") as made:
        yield made


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


def test_the_example_of_the_guide_prints_what_it_says(capsys):
    guide = (Path(__file__).parents[3] / "docs/library.md").read_text("utf-8")
    blocks = (part.partition("```")[0] for part in guide.split("```python\n")[1:])
    first, *_, code = (b for b in blocks if "def corpus(" in b or "ir.AgenticRetrieval(" in b)
    exec(first + code, {})
    said = [line.removeprefix("# -> ") for line in code.splitlines() if line.startswith("# -> ")]
    assert capsys.readouterr().out.splitlines() == said
    ir.open_corpus("tools").close()
