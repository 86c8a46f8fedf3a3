"""What may be given as a stage, and how it is called."""

import pytest

import irdaemon as ir
from irdaemon.library.agentic import make_evaluator, make_retriever, make_selector
from irdaemon.types import Query


class Searches:
    """An object with a `search` of one signature or another."""

    def __init__(self, search):
        self.search = search


@pytest.mark.parametrize(
    "search",
    [
        lambda query, top_k: (query, top_k),
        lambda text, n=4: (text, n),
        lambda text, *, k=10: (text, k),
        lambda *, query, top_k: (query, top_k),
    ],
)
def test_an_objects_search_is_called_as_it_can_be(search):
    assert make_retriever(Searches(search))("q", 7) == ("q", 7)


def test_a_search_of_one_argument_gets_a_query():
    assert make_retriever(Searches(lambda query: query))("q", 7) == Query("q", k=7)
    assert make_retriever(Searches(lambda query: query.k))("q", 5_000) == 1_000


def test_a_search_that_takes_neither_is_a_type_error():
    with pytest.raises(TypeError, match=r"search must take \(query, top_k\)"):
        make_retriever(Searches(lambda: []))


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda query, chunks: (query, chunks),
        lambda chunks, query: (query, chunks),
        lambda *, chunks, query: (query, chunks),
        lambda q, c: (q, c),
        lambda **named: (named["query"], named["chunks"]),
        lambda *values: values,
    ],
)
def test_a_callable_is_called_by_names_where_it_has_them(evaluate):
    assert make_evaluator(evaluate)("q", ["c"]) == ("q", ["c"])


def test_a_builtin_that_tells_nothing_of_its_arguments_is_called_by_position():
    assert make_retriever(max)("q", "r") == "r"


def test_a_corpus_is_a_stage_by_its_handle_or_by_its_name():
    source = ir.CorpusSource.from_mapping({"pdf": "fill in a pdf form"}, name="stage-tools")
    built = ir.build(source, store=":memory:", embedder="hashing")
    for given in (built, "stage-tools", built.engine):
        (hit,) = make_retriever(given)("pdf form", 5)
        assert hit.artifact_id == "pdf"
    assert make_selector(built)([hit], "pdf form", 1) == (hit,)
    assert make_evaluator("stage-tools")("pdf form", [hit])["is_sufficient"]
    built.close()
    with pytest.raises(TypeError, match="'stage-tools' is not a stage: no corpus"):
        make_retriever("stage-tools")


def test_a_selection_or_a_choice_gives_its_hits():
    source = ir.CorpusSource.from_mapping({"pdf": "fill in a pdf form"}, name="stage-tools")
    built = ir.build(source, store=":memory:", embedder="hashing")
    found = built.discover("fill in a pdf form")
    assert make_retriever(lambda query, top_k: found)("q", 3) == found.results
    choose = make_selector(lambda chunks, query, limit: ir.select(chunks, max_k=limit))
    assert choose(found.results, "q", 1) == found.results
    built.close()
