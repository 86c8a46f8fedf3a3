"""Cases that a model writes about what a source or a corpus holds: `ir.eval_gen`."""

import pytest

import irdaemon as ir
from irclient.errors import NotFound, QueryError

DOCS = {
    "alpha": {"name": "alpha", "description": "alpha tool for foo widget tasks here"},
    "beta": {"name": "beta", "description": "beta tool for bar gadget chores here"},
}


def echo(prompt):
    """Answer with the text that was described, or with what has nothing to do with it."""
    return "knit a sweater" if "nothing to do with" in prompt else prompt.rpartition("\n")[2]


@pytest.fixture
def source():
    return ir.CorpusSource.from_mapping(DOCS, name="tools")


@pytest.fixture
def built(source):
    made = ir.build(source, store=":memory:", embedder="hashing")
    yield made
    made.close()


def test_cases_are_made_about_a_source_a_mapping_a_corpus_and_its_name(source, built):
    for given in (source, DOCS, built, "tools"):
        cases = ir.eval_gen.generate_cases(given, 2, ask=echo, corpus_name="tools")
        assert [case.gold for case in cases] == [("alpha",), ("beta",)]
        assert {case.corpus for case in cases} == {"tools"}
        assert not [case for case in cases if case.gold[0] in case.query]
    with pytest.raises(NotFound):
        ir.eval_gen.generate_cases("nowhere", ask=echo)


def test_made_cases_are_answered_by_the_corpus_that_they_are_about(source, built):
    cases = ir.eval_gen.build_eval_set(source, 1, ask=echo, abstention_share=0.3)
    assert [bool(case.gold) for case in cases] == [True, True, False]
    found = ir.eval.evaluate_discovery(built, cases, mode="dense", primary_k=1)
    assert (found.n_gold, found.measures["recall@1"]) == (2, 1.0)


def test_names_and_the_number_of_artifacts_are_as_wanted(source):
    cases = ir.eval_gen.build_eval_set(
        source, 1, ask=echo, abstention_share=0, mask_names=False, max_artifacts=1
    )
    assert [(case.gold, case.metadata["masked"]) for case in cases] == [(("alpha",), False)]
    assert "alpha tool" in cases[0].query


def test_a_model_may_be_the_address_of_an_endpoint(source):
    with pytest.raises(QueryError, match="'nonsense' is not an endpoint"):
        ir.eval_gen.generate_cases(source, ask="nonsense")


def test_an_evaluation_set_has_its_share_of_cases_that_nothing_answers():
    texts = {f"a{n}": (f"a{n}", f"It does thing number {n}.") for n in range(5)}

    def ask(prompt):
        return "one\ntwo\nthree"

    cases = ir.eval_gen.build_eval_set(texts, 1, ask=ask, abstention_share=0.25)
    outside = [case for case in cases if not case.gold]
    assert (len(cases), len(outside)) == (7, 2)
    assert {case.metadata["generator"] for case in outside} == {"abstention"}
    with pytest.raises(QueryError, match="share"):
        ir.eval_gen.build_eval_set(texts, ask=pytest.fail, abstention_share=1.0)


def test_what_was_left_out_is_warned_of():
    with pytest.warns(RuntimeWarning, match="1 artifact has too little text"):
        assert ir.eval_gen.generate_cases({"x": ("n", "short")}, ask=echo) == []
