"""Words that no corpus holds are taken for those they may have been meant to be."""

import pytest

from irdaemon.discovery.variants import replace_words, respell_words
from irdaemon.types import Query, SelectSpec
from tests.support.searching import engine_of, names, tool

TOOLS = {
    "review": tool("Reviewing of pull requests before they are merged"),
    "split": tool("Split a linestring where it crosses another line of geojson"),
    "deploy": tool("Deploy services to the cloud with terraform"),
}


@pytest.fixture(scope="module")
def engine():
    return engine_of(TOOLS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("linestrng", "linestring"),  # a letter left out
        ("linnestring", "linestring"),  # one doubled
        ("corsses", "crosses"),  # two swapped
        ("terrafrom", "terraform"),
        ("geojosn", "geojson"),
        ("linéstring", "linestring"),
    ],
)
def test_a_slip_of_the_keyboard_is_read_as_the_word(engine, typed, meant):
    assert respell_words(engine.snapshot, f"how to {typed}") == {typed: meant}


@pytest.mark.parametrize(
    "text",
    [
        "how to split a linestring",  # held as it is
        "how to review",  # another form of a word that is held
        "how to bplit",  # another first letter
        "how to splat",  # another letter
        "how to slit",  # too short
        "in Terrafrom, of all places",  # a name
        "wie kann ich das mit terrafrom und geojosn machen",  # another language
        "12345 _ ?? \u0301",
        "",
    ],
)
def test_other_words_are_left_as_they_are(engine, text):
    assert respell_words(engine.snapshot, text) == {}


def test_at_most_eight_words_are_respelled(engine):
    slips = [f"linestr{'n' * n}g" for n in range(1, 20)]
    assert len(respell_words(engine.snapshot, " ".join(slips))) <= 8


def test_words_are_replaced_whole_and_everything_else_stays():
    assert replace_words("spilt, spilter\nspilt!", {"spilt": "split"}) == "split, spilter\nsplit!"


def test_a_query_that_nothing_answers_is_asked_again_with_its_words_respelled(engine):
    query = Query("linestrng geojosn", mode="lexical", select=SelectSpec(min_score=None))
    answer = engine.discover(query)
    assert names(answer)[0] == "split"
    assert answer.query == "linestrng geojosn"
    assert answer.signals["respelled"] == {"linestrng": "linestring", "geojosn": "geojson"}


def test_a_query_that_is_answered_keeps_its_words():
    query = Query("deploy linestrng", mode="lexical", select=SelectSpec(min_score=None))
    answer = engine_of(TOOLS).discover(query)
    assert names(answer) == ["deploy"]
    assert "respelled" not in answer.signals
