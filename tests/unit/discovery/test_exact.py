"""An exact search answers with the records that hold a text, character by character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irclient.errors import QueryError
from irdaemon.discovery import exact
from irdaemon.discovery.query import MAX_LITERAL
from irdaemon.engine.queue import Job
from irdaemon.types import Query
from tests.support.corpora import engine, mapped

TEXTS = {
    "arrow": "follow the -> arrow",
    "call": "wait for retry_after(3) seconds",
    "shout": "TODO: mend the ÄRGER",
    "plain": "nothing of note, to do it later",
}


def index(items):
    made = engine(mapped(items))
    made.request(Job("reconcile", "m"))
    made.drain()
    return made


@pytest.fixture(scope="module")
def texts():
    return index(TEXTS)


def find(engine, text, **more):
    answer = engine.search(Query(text, exact=True, **more))
    return {hit.artifact_id for hit in answer.results}


@pytest.mark.parametrize(
    ("literal", "held"),
    [
        ("->", {"arrow"}),
        ("retry_after(", {"call"}),
        ("ry_aft", {"call"}),
        ("TODO:", {"shout"}),
        ("todo:", set()),
        ("o", {"arrow", "call", "plain"}),
        ("%", set()),
        ("_", {"call"}),
    ],
)
def test_every_character_counts_and_its_case(texts, literal, held):
    assert find(texts, literal) == held


@pytest.mark.parametrize("literal", ["todo:", "ärger", "ÄRGER", "ToDo: MEND"])
def test_case_is_ignored_where_that_is_asked_for_also_beyond_ascii(texts, literal):
    assert find(texts, literal, ignore_case=True) == {"shout"}


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_any_part_of_a_text_finds_it_in_every_mode(texts, name, data):
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    mode = data.draw(st.sampled_from(["hybrid", "lexical", "dense"]))
    if not part.strip():
        return
    held = {each for each in TEXTS if part in TEXTS[each]}
    assert find(texts, part, mode=mode) == held


def test_what_is_found_is_certain_and_what_is_not_has_a_reason_of_its_own(texts):
    (hit,) = texts.search(Query("->", exact=True)).results
    assert hit.score == 1.0
    none = texts.search(Query("=>", exact=True))
    assert (none.abstained, none.reason) == (True, "no_match")


def test_it_is_a_filter_beside_the_others_before_the_first_ones_are_taken():
    items = {f"n{at}": {"text": f"see log {at}", "odd": at % 2} for at in range(60)}
    made = index({**items, "last": {"text": "see log -> here", "odd": 1}})
    assert find(made, "->", k=1) == {"last"}
    assert find(made, "see log", k=100) == {*items, "last"}
    assert find(made, "see log", k=100, where={"odd": 0}) == {f"n{at}" for at in range(0, 60, 2)}


def test_of_one_that_takes_too_long_it_is_told_how_much_was_searched(texts, monkeypatch):
    monkeypatch.setattr(exact, "_ARTIFACTS_AT_ONCE", 1)
    monkeypatch.setattr(exact, "_WITHIN_S", -1.0)
    signals = texts.search(Query("->", exact=True)).signals
    assert signals["exact"] == {"records": 0, "searched": 0, "artifacts": len(TEXTS)}


@pytest.mark.parametrize("wrong", [{"exact": 1}, {"ignore_case": "yes"}])
def test_its_switches_are_true_or_false(texts, wrong):
    with pytest.raises(QueryError):
        texts.search(Query("x", **wrong))


@pytest.mark.parametrize("text", ["two\nlines", "x" * (MAX_LITERAL + 1)])
def test_a_text_that_may_lie_in_two_records_is_refused(texts, text):
    with pytest.raises(QueryError, match="part of one line"):
        texts.search(Query(text, exact=True))


def test_nothing_is_decided_by_it(texts):
    for ask in (texts.discover, texts.explain):
        with pytest.raises(QueryError, match="for search"):
            ask(Query("->", exact=True))


def test_it_is_refused_before_it_waits_for_changes(texts, monkeypatch):
    monkeypatch.setattr(texts.store, "catch_up", lambda query: pytest.fail("it waited"))
    with pytest.raises(QueryError, match="for search"):
        texts.discover(Query("->", exact=True, fresh=True))
