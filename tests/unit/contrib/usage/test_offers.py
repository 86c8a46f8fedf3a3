"""Answers as they are noted."""

from dataclasses import replace

from irdaemon.contrib.usage.offers import MOST_ITEMS, NotedAnswer, Offers
from irdaemon.discovery.impressions import ClientSession
from irdaemon.engine.queue import Job
from tests.support.corpora import engine, mapped
from tests.support.usage import NOW, hit, noted


def traced(text, **items):
    made = engine(mapped(items))
    made.request(Job("reconcile", "m"))
    made.drain()
    traces = []
    answer = made.discover(text, note_trace=traces.append)
    noted = NotedAnswer(NOW, "discover", ClientSession("", "s"), "", answer)
    return noted.add_trace(traces[-1])


def test_what_is_offered_comes_first_and_then_what_was_passed_over():
    found = traced("fill a pdf form", pdf="fill a pdf form", deploy="deploy the web service")
    offered, *others = found.list_items()
    assert (offered.corpus, offered.artifact_id, offered.verdict) == ("m", "pdf", "offered")
    assert offered.rank == 1
    assert offered.chars > len("fill a pdf form")
    assert {each.verdict for each in others} <= {"cut", "below_floor"}


def test_an_abstention_tells_what_was_below_the_floor():
    found = traced("entirely unrelated words", pdf="fill a pdf form", deploy="deploy a service")
    assert found.answer.abstained
    assert {each.verdict for each in found.list_items()} <= {"below_floor"}
    assert not found.list_floors()["m"]["above"]


def test_at_most_twenty_items_are_told_each_once():
    items = {f"form{n}": f"fill a pdf form number {n}" for n in range(40)}
    found = traced("fill a pdf form", **items).list_items()
    assert len(found) == MOST_ITEMS
    assert len({each.artifact_id for each in found}) == MOST_ITEMS


def test_what_its_session_was_shown_before_is_told_so():
    before = traced("fill a pdf form", pdf="fill a pdf form")
    nothing = noted("fill a pdf form").answer
    after = replace(before, answer=nothing)
    assert after.list_items()[0].verdict == "shown_before"


def test_a_search_offers_nothing():
    assert noted("x", hit("a"), op="search").list_items()[0].verdict == "ranked"


def test_a_query_with_something_private_is_not_noted():
    offers = Offers()
    offers.note(noted("the <private>secret</private> form"))
    offers.note(noted("the <private>secret form"))
    assert len(offers) == 0


def test_of_too_many_the_oldest_goes_and_what_was_not_written_waits_again():
    offers = Offers()
    for number in range(600):
        offers.note(noted(f"query {number}"))
    taken = offers.take_all()
    assert (len(taken), taken[0].answer.query, len(offers)) == (500, "query 100", 0)
    offers.note(noted("newer"))
    offers.put_back(taken)
    again = offers.take_all()
    assert (len(again), again[0].answer.query, again[-1].answer.query) == (
        500,
        "query 101",
        "newer",
    )
