"""A query is validated once, where it enters the engine."""

from itertools import product

import pytest

from irclient.errors import QueryError
from irdaemon.contrib.evaluate.evaluation import evaluate_corpora
from irdaemon.discovery import query as queries
from irdaemon.discovery.cases import Case
from irdaemon.discovery.query import ParsedQuery
from irdaemon.engine.queue import Job
from irdaemon.index.names import find_names
from irdaemon.text import tokenize
from irdaemon.types import Query, SelectSpec
from tests.support.corpora import engine, mapped
from tests.support.searching import corpus_of, engine_of, tool

TOOLS = {
    "fill": tool("Fill a pdf form with data"),
    "deploy": tool("Deploy services to the cloud"),
}
TWO_THINGS = "fill a pdf form and deploy services to the cloud"


def counted(monkeypatch, module, name):
    """Count the calls of a function where a module calls it."""
    calls, function = [], getattr(module, name)

    def counting(*args, **more):
        calls.append(args)
        return function(*args, **more)

    monkeypatch.setattr(module, name, counting)
    return calls


@pytest.mark.parametrize("entry", ["discover", "search", "explain"])
def test_a_query_is_validated_once_whatever_sub_queries_it_has(monkeypatch, entry):
    engine = engine_of(TOOLS)
    whole = counted(monkeypatch, queries, "_check_ranking")
    names = ("check_level", "parse_expand", "parse_filter", "check_spec", "check_wait")
    parts = [counted(monkeypatch, queries, name) for name in names]
    getattr(engine, entry)(Query(TWO_THINGS))
    assert [len(calls) for calls in (whole, *parts)] == [1] * 6


def test_the_words_of_a_query_and_of_each_sub_query_are_analysed_once_for_all_corpora(monkeypatch):
    engine = engine_of(TOOLS, notes=TOOLS, more=TOOLS)
    calls = counted(monkeypatch, queries, "find_query_words")
    engine.discover(Query(TWO_THINGS))
    assert [text for (text,) in calls] == [
        TWO_THINGS,
        "fill a pdf form",
        "deploy services to the cloud",
    ]


RARE = ["".join(letters) for letters in product("bdfgkmnp", repeat=3)]
# What a person may paste: words, one run of letters, digits, Chinese, and names by the thousand.
LONG = {
    "words": " ".join(RARE),
    "letters": "a" * 20_000,
    "digits": "1234567890" * 2_000,
    "unspaced": "".join(map(chr, range(0x4E00, 0x4E00 + 8_000))),
    "names": " ".join(f"{a}.{b}" for a in map(chr, range(97, 123)) for b in range(100)) * 3,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("entry", ["discover", "search", "explain"])
def test_no_more_of_a_query_is_analysed_than_8_000_characters_and_256_terms(
    monkeypatch, entry, text
):
    calls = [counted(monkeypatch, queries, name) for name in ("tokenize", "find_query_words")]
    engine, answer = engine_of(TOOLS), None
    answer = getattr(engine, entry)(Query(text))
    question = queries.analyse_query(ParsedQuery(text), engine.snapshot.vocabulary)
    assert len(question.text) <= queries.MAX_CHARS
    assert len(set(tokenize(question.text))) <= queries.MAX_TERMS
    assert len(list(find_names(question.text))) <= 256
    assert text.startswith(question.text)
    assert all(len(given) <= queries.MAX_CHARS for each in calls for (given,) in each)
    signals = answer["selection"]["signals"] if entry == "explain" else answer.signals
    assert signals["cut"] == {"characters": len(question.text), "of": len(text)}


def test_of_a_query_of_few_characters_and_terms_nothing_is_cut_and_nothing_is_said():
    text = " ".join(RARE[:250])
    assert queries.cut_text(text) == text
    assert "cut" not in engine_of(TOOLS).discover(Query(text)).signals


def test_a_word_beyond_8_000_characters_is_not_searched_for():
    engine = engine_of(TOOLS)
    within, beyond = (" ".join(["x", "y" * length, "deploy"]) for length in (7_000, 9_000))
    assert engine.search(Query(within, mode="lexical")).results
    assert not engine.search(Query(beyond, mode="lexical")).results


def test_a_word_counts_once_where_it_is_also_an_identifier_of_the_query():
    tools = {"emit": tool("Listen to an EventEmitter"), "other": tool("Merge pdf files")}
    vocabulary = engine_of(tools).snapshot.vocabulary
    question = queries.analyse_query(ParsedQuery("EventEmitter, the eventemitter"), vocabulary)
    assert question.terms.count(vocabulary["eventemitter"]) == 1


def test_every_case_of_an_evaluation_is_validated_as_it_is_asked(monkeypatch):
    whole = counted(monkeypatch, queries, "_check_ranking")
    evaluate_corpora(engine_of(TOOLS), [Case("fill a form", ("fill",))], Query(""))
    assert len(whole) == 3  # the shape of all, one search and one discover
    with pytest.raises(QueryError, match="the query is empty"):
        evaluate_corpora(engine_of(TOOLS), [Case(" ")], Query(""))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query(" "), "the query is empty"),
        (Query("x", corpora=(1,)), "corpora must be a list of texts"),
        (Query("x", mode="hybird"), "unknown mode 'hybird'.*did you mean 'hybrid'"),
        (Query("x", fusion="rff"), "unknown fusion 'rff'"),
        (Query("x", weights={"chunk": -1}), "the weight of 'chunk'"),
        (Query("x", k=0), "k must be a whole number from 1 to 1,000"),
        (Query("x", wait_ms=1e9), "wait_ms must be"),
        (Query("x", level="all"), "unknown level 'all'"),
        (Query("x", expand="window:99"), "a window is 1 to 50 records wide"),
        (Query("x", where={"a": {"$lke": 1}}), "unknown filter operator '.lke'"),
        (Query("x", select=SelectSpec(max_k=0)), "max_k must be"),
        (Query("x", select=SelectSpec(min_score=7)), "min_score must be a number from 0 to 1"),
        (Query("x", select=SelectSpec(min_score=-0.1)), "min_score must be a number from 0 to 1"),
    ],
)
def test_a_query_that_cannot_be_run_is_an_error_that_says_what(query, message):
    with pytest.raises(QueryError, match=message):
        queries.parse_query(query)


def test_a_search_does_not_mind_how_to_select():
    wrong = SelectSpec("no such strategy", max_k=0)
    found = engine_of(TOOLS).search(Query("pdf form", select=wrong)).results
    assert found[0].name == "fill"


@pytest.mark.parametrize("more", [{"surfaces": ("nosuch",)}, {"weights": {"nosuch": 2.0}}])
@pytest.mark.parametrize("entry", ["discover", "search", "explain"])
def test_a_surface_kind_that_no_corpus_has_is_an_error_that_names_those_there_are(entry, more):
    kind = "capability"
    made = engine_of(TOOLS)
    with pytest.raises(QueryError, match="unknown surface kind 'nosuch'") as refused:
        getattr(made, entry)(Query("pdf form", **more))
    assert kind in refused.value.hint


def test_a_surface_kind_that_only_another_corpus_has_finds_nothing_and_is_no_error():
    made = engine(corpus_of(TOOLS, "tools"), mapped({"a": "a pdf of words"}))
    for name in ("tools", "m"):
        made.request(Job("reconcile", name))
    made.drain()
    (theirs,) = set(made.snapshot.corpora["m"].kinds) - set(made.snapshot.corpora["tools"].kinds)
    assert not made.search(Query("pdf", ("tools",), surfaces=(theirs,))).results
    assert made.search(Query("pdf", ("tools",), weights={theirs: 0.5})).results


def test_a_field_of_dates_is_compared_with_dates_only():
    made = engine_of({"a": tool("pdf one", when="2026-09-01T10:00:00Z"), "b": tool("pdf two")})
    for wrong in ("yesterday", "7d", 5, "2026-9-1"):
        with pytest.raises(QueryError, match="'when' has dates"):
            made.search(Query("pdf", where={"$and": [{"when": {"$gte": wrong}}]}))
    for right, found in (("2026", 1), ("2026-09", 1), ("2026-09-01T11:00", 0)):
        answer = made.search(Query("pdf", where={"when": {"$gte": right}}))
        assert len(answer.results) == found, right


def test_a_field_that_holds_other_texts_too_is_compared_as_text():
    made = engine_of({"a": tool("pdf one", when="2026-09-01"), "b": tool("pdf two", when="soon")})
    assert len(made.search(Query("pdf", where={"when": {"$gte": "s"}})).results) == 1
