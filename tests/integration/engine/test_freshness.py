"""Waiting until everything that was changed is in the snapshot, or saying what may not be."""

import os
import threading
import time
from dataclasses import replace

import pytest

from irclient.errors import QueryError
from irdaemon.config.reindex import Reindex
from irdaemon.engine.ledger_store import catch_up
from irdaemon.engine.queue import Job, Work
from irdaemon.types import Query, Root
from irdaemon.watch import Debouncer, Settings, Watcher
from irdaemon.watch.watcher import Delivery
from tests.support.corpora import engine, mapped, skills, write_skill


def test_a_fresh_answer_of_an_engine_without_a_watcher_looks_first(tmp_path):
    write_skill(tmp_path / "a", "badger")
    made = engine(skills(tmp_path))
    assert made.search(Query("badger", mode="lexical")).n_retrieved == 0
    answer = made.search(Query("badger", mode="lexical", fresh=True))
    assert answer.n_retrieved == 1
    assert answer.freshness["unproved"] == []
    assert "unproved" not in made.search(Query("badger")).freshness


def test_what_is_scanned_at_intervals_is_scanned_for_a_fresh_answer(tmp_path):
    write_skill(tmp_path / "a", "badger")
    made = engine(replace(skills(tmp_path), reindex=Reindex("interval")))
    answer = made.search(Query("badger", mode="lexical", fresh=True))
    assert (answer.n_retrieved, answer.freshness["unproved"]) == (1, [])


def test_what_is_indexed_by_hand_is_not_scanned_for_a_fresh_answer_and_is_named_as_not_proved(
    tmp_path,
):
    write_skill(tmp_path / "a", "badger")
    made = engine(replace(skills(tmp_path), reindex=Reindex("manual")))
    answer = made.search(Query("badger", mode="lexical", fresh=True))
    assert (answer.n_retrieved, answer.freshness["unproved"]) == (0, [os.path.realpath(tmp_path)])


def test_events_of_a_root_prove_nothing_of_a_corpus_that_does_not_take_them(tmp_path):
    write_skill(tmp_path / "a", "badger")
    corpus = replace(skills(tmp_path), reindex=Reindex("interval"))
    work, wait = Work(), lambda happened, timeout: None
    assert catch_up([corpus], work, lambda timeout: {str(tmp_path)}, wait, 1.0)
    assert len(work.list_scans("s")) == 1


def test_a_root_that_is_missing_is_named_as_not_proved(tmp_path):
    made = engine(skills(tmp_path / "none"), mapped({"a": "x"}))
    answer = made.discover(Query("x", fresh=True))
    assert answer.freshness["unproved"] == [os.path.realpath(tmp_path / "none")]
    assert made.discover(Query("x", corpora=("m",), fresh=True)).freshness["unproved"] == []


@pytest.mark.parametrize("wait_ms", [-1, 10**9, True, "soon", None])
def test_a_time_to_wait_that_is_none_is_an_error(wait_ms):
    with pytest.raises(QueryError, match="wait_ms"):
        engine(mapped({"a": "x"})).discover(Query("x", wait_ms=wait_ms))


def test_waiting_for_a_job_ends_with_it_and_at_the_latest_with_the_timeout():
    work = Work()
    number = work.add(Job("reconcile", "c"))
    (look,) = work.list_scans("c")
    assert not work.wait_until(lambda: look.ended, 0.01)
    work.take()
    threading.Timer(0.05, work.end, (number, "done", "")).start()
    assert work.wait_until(lambda: look.ended, 5)
    assert work.list_scans("c") == []


def test_a_flush_hands_over_what_waits_and_returns_when_that_was_taken():
    handed = []
    delivery = Delivery(handed.append, Debouncer(settle=60, eager=0))
    delivery.start()
    delivery.add("/a/b", "")
    assert handed == []
    assert delivery.flush(5)
    assert handed == [("/a/b",)]
    assert delivery.flush(5)  # nothing waits: at once
    delivery.stop()


@pytest.fixture
def watched(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    dirty = []
    settings = Settings(settle=60, eager=0, cookies=str(tmp_path / "cookies"))
    watcher = Watcher(dirty.extend, settings)
    watcher.set_roots([Root(str(root)), Root(str(tmp_path / "missing"))])
    watcher.start()
    yield watcher, root, dirty
    watcher.stop()


def test_what_was_written_before_is_handed_over_when_the_watcher_has_caught_up(watched):
    watcher, root, dirty = watched
    assert watcher.caught_up(5)  # the hints that every root begins with
    for number in range(20):
        path = root / f"f{number}"
        path.write_text("x")
        assert watcher.caught_up(5) == {str(root)}
        assert str(path) in dirty


def test_a_watcher_that_polls_proves_nothing(tmp_path):
    watcher = Watcher(lambda paths: None, Settings(polling=True, cookies=str(tmp_path / "c")))
    watcher.set_roots([Root(str(tmp_path))])
    watcher.start()
    started = time.monotonic()
    assert watcher.caught_up(5) == frozenset()
    assert time.monotonic() - started < 1
    watcher.stop()


def test_a_cookie_directory_that_is_deleted_is_no_proof_and_comes_back(watched, tmp_path):
    watcher = watched[0]
    assert watcher.caught_up(5)
    (tmp_path / "cookies").rmdir()
    assert watcher.caught_up(0.2) == frozenset()
    deadline = time.monotonic() + 10
    while not watcher.caught_up(0.2):
        assert time.monotonic() < deadline, "the cookies never came back"
        watcher.tick(time.monotonic())
        time.sleep(0.01)  # the reader has still to read that the directory went
