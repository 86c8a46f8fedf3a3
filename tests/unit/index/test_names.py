"""How much of a name a query covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.engine.queue import Job
from irdaemon.strategy import ClaudeTurn
from irdaemon.text import tokenize, tokenize_name
from irdaemon.types import Query
from tests.support.corpora import engine, mapped
from tests.support.searching import WORDS, engine_of, names, tool


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fill-pdf-form", ["fill", "pdf", "form"]),
        ("parseConfigFile", ["pars", "config", "file"]),
        ("parse_config_file", ["pars", "config", "file"]),
        ("math.factorial", ["factori"]),
        ("superpowers:brainstorming", ["brainstorm"]),
        ("@rollup/plugin-babel", ["plugin", "babel"]),
        ("node.js", ["node", "js"]),
        ("what-to-do", []),
        ("天气预报", ["天气", "气预", "预报"]),
        ("", []),
    ],
)
def test_the_words_of_a_name_are_those_of_its_last_part(name, words):
    assert tokenize_name(name) == words


def covered(query):
    found = engine_of({"fill-pdf": tool("x"), "merge-cloud": tool("y")}).search(Query(query))
    return {hit.name: hit.scores["name"] for hit in found.results}


def test_a_query_covers_the_share_of_a_name_that_it_holds():
    whole, half = covered("please fill this in a pdf"), covered("a pdf x y")
    assert 0 < half["fill-pdf"] < whole["fill-pdf"] < 1


def test_a_name_of_one_common_word_says_less_than_one_of_several():
    items = {f"note {n}": tool("a note") for n in range(9)}
    items |= {"note": tool("a note"), "budget-note-archive": tool("a note")}
    found = engine_of(items).search(Query("note budget archive", k=20)).results
    share = {hit.artifact_id: hit.scores["name"] for hit in found}
    assert share["note"] < share["budget-note-archive"]


def test_of_two_that_are_described_alike_the_one_named_like_the_query_comes_first():
    same = "Work with files of an office"
    engine = engine_of({"a-cloud": tool(same), "b-invoice": tool(same + " too")})
    assert names(engine.search(Query("work with an invoice")))[0] == "b-invoice"


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), st.data())
def test_no_query_covers_more_of_a_name_than_one_that_holds_all_its_words(words, data):
    asked = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
    engine = engine_of({"-".join(words): tool("thing " + " ".join(WORDS))})

    def share(text):
        return engine.search(Query(f"{text} thing")).results[0].scores["name"]

    whole = set(tokenize_name("-".join(words))) <= set(tokenize(" ".join(asked)))
    most = share(" ".join(words))
    assert 0 <= share(" ".join(asked)) <= most < 1
    assert (share(" ".join(asked)) == most) == whole


def test_a_turn_is_not_named_by_its_first_words():
    turn = {"user_prompt": "ok continue the parser", "assistant_summary": "done"}
    made = engine(mapped({"t": {"name": "ok continue the parser", **turn}}, strategy=ClaudeTurn()))
    made.request(Job("reconcile", "m"))
    made.drain()
    assert made.search(Query("please continue the parser")).results[0].scores["name"] == 0


def first(query, items):
    return [hit.name for hit in engine_of(items).search(Query(query)).results][:1]


@pytest.mark.parametrize(("repeated", "called"), [(1, ["summary"]), (20, ["fill-pdf"])])
def test_a_quoted_word_calls_an_artifact_in_a_short_text_and_not_in_a_long_one(repeated, called):
    items = {"summary": tool("x"), "fill-pdf": tool("Complete a form of invoices")}
    text = "complete this form of invoices and leave 'summary' empty. " * repeated
    assert first(text, items) == called


def test_an_identifier_is_found_without_its_capitals():
    items = {"bus": tool("Events by EventEmitter"), "mail": tool("Mail for emitters of events")}
    assert first("eventemitter", items) == ["bus"]
