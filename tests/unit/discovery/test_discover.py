"""From a query to a selection: merged corpora, reasons to abstain, and the trace of every stage."""

import pytest

import irdaemon as ir
from irclient.errors import NotFound, Unavailable
from irdaemon.discovery import retrieve
from irdaemon.discovery.discover import Models, discover, search
from irdaemon.discovery.query import ParsedQuery
from irdaemon.engine.queue import Job
from irdaemon.strategy import Chunked
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import engine, mapped
from tests.support.searching import MANY_TOOLS, TOOLS, engine_of, names, tool

COOKING = {
    f"{how}-{what}": tool(f"Recipes to {how} {what} at home, with times and quantities of {what}")
    for how in "bake roast steam grill fry".split()
    for what in "bread potatoes salmon carrots dumplings".split()
}


def test_a_query_that_shares_nothing_finds_nothing_in_the_lexical_leg():
    answer = engine_of(TOOLS).discover(Query("zebra", mode="lexical"))
    assert (answer.abstained, answer.reason, answer.results) == (True, "no_candidates", ())


def test_each_way_to_find_nothing_has_its_own_reason():
    engine = engine_of(TOOLS, empty={})
    assert engine.discover(Query("pdf", ("empty",))).reason == "nothing_indexed"
    assert engine.discover(Query("pdf", where={"team": "x"})).reason == "filtered_out"
    assert engine.discover(Query("zebra", mode="lexical")).reason == "no_candidates"
    assert engine.discover(Query("? ! @")).reason == "no_task"


@pytest.mark.parametrize("text", ["ok, go on", "rename fill to fill_in in forms.py", "thanks"])
def test_a_prompt_without_a_task_gets_nothing(text):
    answer = engine_of(TOOLS).discover(Query(text))
    assert (answer.results, answer.reason) == ((), "no_task")


def test_what_a_prompt_without_a_task_calls_by_name_is_given():
    items = {**TOOLS, "fix-typos": tool("Correct spelling")}
    assert [hit.name for hit in engine_of(items).discover(Query("fix-typos")).results] == [
        "fix-typos"
    ]


def test_a_given_floor_holds_for_a_prompt_without_a_task_as_well():
    query = Query("fill", select=SelectSpec(min_score=0.0))
    assert engine_of(TOOLS).discover(query).results


def test_an_empty_corpus_does_not_change_the_order_of_the_others():
    query = Query("fill in invoices", select=SelectSpec("top_k", max_k=9, min_score=None))
    orders = [
        names(engine_of(MANY_TOOLS, cooking=COOKING, **more).discover(query))
        for more in ({}, {"empty": {}})
    ]
    assert orders[0] == orders[1] != []


def test_lexical_answers_before_vectors_are_there_and_says_so():
    engine = engine_of(TOOLS)
    index = engine.snapshot.corpora["tools"]
    from dataclasses import replace

    import numpy as np

    from irdaemon.index.dense import Dense

    bare = replace(index.rows, embedded=np.zeros(len(index.rows.present), bool))
    snapshot = replace(
        engine.snapshot, corpora={"tools": replace(index, rows=bare, dense=Dense(bare))}
    )
    models = Models(lambda text, embedder: None)
    answer = discover(snapshot, ParsedQuery("fill a pdf form"), models).selection
    assert answer.freshness["legs"] == ["lexical"]
    assert answer.freshness["pending"] == 3
    assert names(answer) == ["fill"]
    with pytest.raises(Unavailable, match="not ready"):
        search(snapshot, ParsedQuery("pdf", mode="dense"), models)


def test_an_unknown_corpus_is_an_error_naming_the_nearest():
    with pytest.raises(NotFound, match="did you mean 'tools'"):
        engine_of(TOOLS).search(Query("pdf", ("tool",)))


def test_several_corpora_answer_together_and_say_where_each_hit_is_from():
    engine = engine_of(TOOLS, notes={"form": tool("pdf form notes of last week")})
    answer = engine.search(Query("pdf form"))
    assert {hit.corpus for hit in answer.results} == {"tools", "notes"}


def test_the_same_id_in_two_corpora_is_two_hits():
    engine = engine_of({"a": tool("Fill a pdf form")}, notes={"a": tool("Notes on a pdf form")})
    found = engine.search(Query("pdf form")).results
    assert {(hit.corpus, hit.artifact_id) for hit in found} == {("tools", "a"), ("notes", "a")}


NAMED = {
    "fill-pdf": {"name": "fill-pdf", **tool("Complete forms")},
    "parseConfig": {"name": "parseConfig", **tool("Read settings")},
    "commit": {"name": "commit", **tool("Write a message for a change")},
    **{
        f"noise{n}": tool("how do I use this for commit and fill pdf config work")
        for n in range(20)
    },
}


@pytest.fixture(scope="module")
def named_engine():
    return engine_of(NAMED)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("fill-pdf", "fill-pdf"),
        ("how do I use fill-pdf for this", "fill-pdf"),
        ("use FILL-PDF: now", "fill-pdf"),
        ("does parseConfig work?", "parseConfig"),
        ("commit", "commit"),
        ("how do I use `commit`", "commit"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_an_artifact_called_by_its_name_comes_first_and_above_any_floor(
    named_engine, text, named, mode
):
    spec = ir.SelectSpec(min_score=0.99)
    answer = named_engine.discover(Query(text, mode=mode, k=1, select=spec))
    assert (names(answer), answer.abstained) == ([named], False)
    assert answer.results[0].score == 1.0


def test_two_artifacts_called_by_name_are_both_committed():
    answer = engine_of(NAMED).discover(Query("first parseConfig, then fill-pdf"))
    assert set(names(answer)) == {"parseConfig", "fill-pdf"}


def test_the_trace_of_a_query_holds_every_stage():
    engine = engine_of(TOOLS)
    models = Models(lambda text, embedder: None)
    trace = discover(engine.snapshot, ParsedQuery("fill a pdf form"), models)
    assert [each.index.corpus for each in trace.merged.rankings] == ["tools"]
    assert trace.choice.hits == trace.selection.results
    assert trace.selection.n_retrieved == len(trace.merged.found)


def summaries_made(monkeypatch):
    """Note the summaries as they are made."""
    made, summary_of = [], retrieve.summarize_hit

    def noting(*args):
        made.append(summary_of(*args))
        return made[-1]

    monkeypatch.setattr(retrieve, "summarize_hit", noting)
    return made


@pytest.mark.parametrize("text", ["fill in invoices", "sign invoices and resize the camera"])
def test_only_what_is_answered_is_summarised(monkeypatch, text):
    made = summaries_made(monkeypatch)
    answer = engine_of(MANY_TOOLS).discover(Query(text))
    assert answer.n_retrieved > len(answer.results) > 0
    assert [hit.summary for hit in answer.results] == made


@pytest.mark.parametrize("text", ["fill in invoices", "sign invoices and resize the camera"])
def test_hits_are_made_only_of_what_is_answered(monkeypatch, text):
    made, hit_of = [], retrieve.Candidate.make_hit

    def noting(*args):
        made.append(hit_of(*args))
        return made[-1]

    monkeypatch.setattr(retrieve.Candidate, "make_hit", noting)
    answer = engine_of(MANY_TOOLS).discover(Query(text))
    assert answer.n_retrieved > len(answer.results) > 0
    assert [hit.artifact_id for hit in made] == [hit.artifact_id for hit in answer.results]


def test_the_hit_of_a_sub_query_is_summarised_by_the_words_of_that():
    filler = "Nothing of the kind is said in this sentence here. " * 30
    texts = {
        "cat": "Carry a cat to the veterinary, and calm the cat.",
        "garden": f"Calm the cat.\n{filler}\n{'Water tomatoes. ' * 6}Tomatoes like water.",
        **{
            f"other{n}": text
            for n, text in enumerate(["Paint a wall.", "Bake bread.", "Sort mail."])
        },
    }
    made = engine(mapped({id: {"text": text} for id, text in texts.items()}, strategy=Chunked()))
    made.request(Job("reconcile", "m"))
    made.drain()
    text = "calm the cat, carry the cat to the veterinary, and water tomatoes"
    answer = made.discover(Query(text, select=SelectSpec(min_score=0.0, rel=0.99)))
    assert (names(answer), answer.reason) == (["cat", "garden"], "subqueries")
    assert answer.results[1].summary.startswith("… Water tomatoes.")


def test_a_share_of_the_top_that_is_asked_for_holds_and_without_one_half_of_its_odds():
    others = {f"o{n}": tool(f"Something else of number {n}") for n in range(9)}
    made = engine_of(
        {
            "a": tool("Fill in the pdf form of the tax office"),
            "b": tool("Fill a pdf form"),
            "c": tool("Merge the pages of a pdf"),
            "d": tool("Bake bread"),
            "e": tool("Fill the tank with fuel"),
            **others,
        }
    )
    for rel in (None, 0.95, 0.5):
        select = SelectSpec(rel=rel, min_score=None)
        hits = made.discover(Query("fill the pdf pages", select=select)).results
        top = hits[0].score
        assert hits[-1].score >= (top / (2 - top) if rel is None else rel * top) - 1e-3


def test_all_that_a_search_ranks_is_summarised():
    assert all(hit.summary for hit in engine_of(MANY_TOOLS).search(Query("fill invoices")).results)


def test_a_selector_that_is_not_ours_can_read_summaries():
    def of_invoices(hits):
        return [hit for hit in hits if "invoices" in hit.summary]

    query = Query("fill", select=SelectSpec(min_score=0.0))
    answer = engine_of(MANY_TOOLS).discover(query, of_invoices)
    assert names(answer)[0] == "fill-invoices"
    assert all(name.endswith("invoices") for name in names(answer))


def test_while_a_corpus_is_building_nothing_found_is_no_verdict():
    from dataclasses import replace

    engine = engine_of(TOOLS)
    index = replace(engine.snapshot.corpora["tools"], last_reconcile=None)
    snapshot = replace(engine.snapshot, corpora={"tools": index})
    models = Models(lambda text, embedder: None)
    answer = discover(snapshot, ParsedQuery("design a microservice"), models).selection
    assert (answer.abstained, answer.reason, answer.results) == (True, "building", ())
    assert answer.freshness["building"] == ["tools"]
    assert discover(snapshot, ParsedQuery("`fill`"), models).selection.results
