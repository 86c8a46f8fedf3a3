"""The log of use as a file."""

import os
import stat
from contextlib import closing

import pytest

from irdaemon.contrib.usage.store import KEPT_DAYS, UsageStore, read_usage
from tests.support.usage import NOW, considered, offer, turn

DAY = 24 * 60 * 60
PDF, DEPLOY = ("skill", "pdf"), ("skill", "deploy")
ENTRY = ("sessions", "S.jsonl")


@pytest.fixture
def store(tmp_path):
    with closing(UsageStore(str(tmp_path / "usage.sqlite"))) as made:
        yield made


def test_the_file_is_private_and_gives_back_what_was_put_in(store):
    given = offer(b"d", considered("pdf"), considered("deploy", "below_floor", 2), text=None)
    store.put_offers([given])
    store.put_turns(ENTRY, [turn("S:1", PDF, own=[b"d"], asked=[b"q"])], partial=False)
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    with read_usage(store.path) as view:
        (kept,) = view.list_offers()
        assert kept.items == given.items
        assert view.list_turns() == [turn("S:1", PDF, own=[b"d"], asked=[b"q"])]


def test_a_whole_reading_replaces_an_entrys_turns_and_a_partial_one_adds(store):
    store.put_turns(ENTRY, [turn("S:1", PDF), turn("S:2")], partial=False)
    store.put_turns(ENTRY, [turn("S:2", DEPLOY), turn("S:3")], partial=True)
    assert {each.turn_id: each.uses for each in store.list_turns()} == {
        "S:1": (PDF,),
        "S:2": (DEPLOY,),
        "S:3": (),
    }
    store.put_turns(ENTRY, [turn("S:3")], partial=False)  # it was cut or rewritten
    assert [each.turn_id for each in store.list_turns()] == ["S:3"]


def test_ten_thousand_uses_of_one_item_are_counted_by_turn(store):
    store.put_turns(ENTRY, [turn(f"S:{n}", PDF, PDF) for n in range(10_000)], partial=False)
    assert store.count("uses") == 10_000


def test_a_session_that_goes_takes_its_offers_along(store):
    store.put_offers([offer(b"d"), offer(b"e", session="claude:T")])
    store.put_turns(ENTRY, [turn("S:1")], partial=False)
    store.forget_entries("sessions", ["S.jsonl"])
    assert [each.session for each in store.list_offers()] == ["claude:T"]
    assert store.list_turns() == []


def test_a_session_about_a_project_that_opts_out_later_leaves_nothing(store):
    store.put_offers([offer(b"d")])
    store.put_turns(ENTRY, [turn("S:1", PDF)], partial=False)
    store.put_turns(ENTRY, [], partial=False)
    assert (store.list_offers(), store.list_turns()) == ([], [])


def test_a_corpus_that_is_taken_out_goes(store):
    store.put_turns(ENTRY, [turn("S:1", PDF)], partial=False)
    store.set_whole("sessions")
    store.keep_corpora(["sessions"])
    assert store.list_turns()
    assert store.is_whole("sessions")
    store.keep_corpora(["skills"])
    assert not store.list_turns()
    assert not store.is_whole("sessions")


def test_answers_go_after_ninety_days(store):
    old = offer(b"d", at=NOW - (KEPT_DAYS + 1) * DAY)
    store.put_offers([old, offer(b"e")])
    store.prune(NOW)
    assert [each.digest for each in store.list_offers()] == [b"e"]


def test_a_file_that_grows_too_large_loses_its_oldest_answers(store):
    items = [considered(f"item-{n}") for n in range(20)]
    store.put_offers([offer(b"%d" % n, *items, at=NOW + n) for n in range(500)])
    large = store.measure_size()
    store.prune(NOW + 500, most_bytes=large // 2)
    kept = store.list_offers()
    assert store.measure_size() <= large // 2
    assert 0 < len(kept) < 500
    assert kept[-1].digest == b"499"


def test_what_was_forgotten_stays_so_when_transcripts_are_read_again(store):
    turns = [turn("S:1", PDF, DEPLOY)]
    store.put_offers([offer(b"d", considered("pdf"), considered("deploy"))])
    store.put_turns(ENTRY, turns, partial=False)
    assert store.forget_item(("skills", "pdf"), [PDF], NOW + 1) == 2
    store.put_turns(ENTRY, turns, partial=False)
    assert store.list_turns()[0].uses == (DEPLOY,)
    assert [each.artifact_id for each in store.list_offers()[0].items] == ["deploy"]


def test_a_session_and_everything_can_be_forgotten(store):
    store.put_offers([offer(b"d"), offer(b"e", session="claude:T")])
    store.put_turns(ENTRY, [turn("S:1", PDF)], partial=False)
    assert store.forget_session("claude:S", NOW + 1) == 2
    store.put_turns(ENTRY, [turn("S:1", PDF)], partial=False)
    assert (store.count("offers"), store.count("turns")) == (1, 0)
    store.forget_all(NOW + 2)
    store.put_turns(ENTRY, [turn("T:1", PDF, session="claude:T")], partial=False)
    assert (store.count("offers"), store.count("turns")) == (0, 0)
    store.put_turns(ENTRY, [turn("T:2", PDF, session="claude:T", at=NOW + 3)], partial=False)
    assert store.count("turns") == 1
