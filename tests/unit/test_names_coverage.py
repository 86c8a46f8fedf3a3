"""How much of a name a query covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.text import name_tokens, tokenize
from irdaemon.types import Query
from tests.unit.test_ranking import WORDS, engine_of, names, tool


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
    assert name_tokens(name) == words


def covered(query):
    found = engine_of({"fill-pdf": tool("x"), "merge-cloud": tool("y")}).search(Query(query))
    return {hit.name: hit.scores["name"] for hit in found.results}


def test_a_query_covers_the_share_of_a_name_that_it_holds():
    shares = covered("please fill this in a pdf")
    assert shares["fill-pdf"] == pytest.approx(1)
    assert 0 < covered("a pdf x y")["fill-pdf"] < 1


def test_of_two_that_are_described_alike_the_one_named_like_the_query_comes_first():
    same = "Work with files of an office"
    engine = engine_of({"a-cloud": tool(same), "b-invoice": tool(same + " too")})
    assert names(engine.search(Query("work with an invoice")))[0] == "b-invoice"


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), st.data())
def test_coverage_is_whole_exactly_when_all_words_of_the_name_are_asked(words, data):
    asked = data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
    name = "-".join(words)
    share = {
        hit.name: hit.scores["name"]
        for hit in engine_of({name: tool("thing " + " ".join(WORDS))})
        .search(Query(" ".join(asked) + " thing"))
        .results
    }[name]
    assert 0 <= share <= 1.0001
    whole = set(name_tokens(name)) <= set(tokenize(" ".join(asked)))
    assert (share > 0.9999) == whole
