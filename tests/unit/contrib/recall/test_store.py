"""What is kept of turns: the files that they touched, as they were then, and their commits."""

import sqlite3

import pytest

from irdaemon.contrib.recall.store import FileState, RecallStore
from tests.support.recall import NOW, done_turn

APP = "/w/app"


@pytest.fixture
def store(tmp_path):
    store = RecallStore(str(tmp_path / "recall.sqlite"))
    yield store
    store.close()


def put(store, *turns, entry="S.jsonl", partial=False):
    store.put_turns("sessions", entry, turns, partial)


def look_at_all(store, blob="b1"):
    """Have every file that was not looked at be of one content."""
    found = store.list_unlooked(APP, 100)
    store.put_states((each.turn, FileState(each.path, blob, 3, 5, ("f",))) for each in found)
    return [each.path for each in found]


def test_a_turn_is_found_by_its_file_and_by_the_end_of_its_path(store):
    put(store, done_turn("old", NOW, files={f"{APP}/src/p.py": False}))
    put(store, done_turn("new", NOW + 60, files={f"{APP}/src/p.py": True}), entry="T.jsonl")
    for path in (f"{APP}/src/p.py", "src/p.py", "p.py"):
        found = [(each.turn_id, each.is_write) for each in store.find_touching(path, 10)]
        assert found == [("new", True), ("old", False)], path
    assert [each.turn_id for each in store.find_touching("p.py", 1)] == ["new"]


@pytest.mark.parametrize("path", ["rc/p.py", "/src/p.py", "src", "%.py", "src/_.py", "q.py"])
def test_a_part_of_a_name_is_no_end_of_a_path(store, path):
    put(store, done_turn("a", files={f"{APP}/src/p.py": False}))
    assert store.find_touching(path, 10) == []


def test_what_a_turn_that_is_read_again_was_like_stays(store):
    put(store, done_turn("a", files={f"{APP}/p.py": True}))
    assert look_at_all(store) == [f"{APP}/p.py"]
    put(store, done_turn("a", files={f"{APP}/p.py": True}))
    assert store.list_unlooked(APP, 10) == []
    assert store.find_state("sessions", "a").files == (
        FileState(f"{APP}/p.py", "b1", 3, 5, ("f",)),
    )


def test_the_files_of_a_turn_that_went_on_are_looked_at_again(store):
    put(store, done_turn("a", files={f"{APP}/p.py": True}))
    look_at_all(store)
    put(store, done_turn("a", NOW + 1, files={f"{APP}/p.py": True}), partial=True)
    assert look_at_all(store) == [f"{APP}/p.py"]


def test_a_turn_that_its_file_no_longer_has_is_forgotten(store):
    put(store, done_turn("a"), done_turn("b"))
    put(store, done_turn("c"), partial=True)
    put(store, done_turn("b"), done_turn("c"))
    assert [store.find_state("sessions", each) is None for each in "abc"] == [True, False, False]
    store.forget_entries("sessions", ["S.jsonl"])
    assert store.count("turns") == 0


def test_a_corpus_is_forgotten_with_all_that_its_turns_did(store):
    put(store, done_turn("a", files={f"{APP}/p.py": True}, commits=("0a1b2c3",)))
    store.set_whole("sessions")
    store.forget_corpus("sessions")
    assert [store.count(table) for table in ("turns", "files", "commits")] == [0, 0, 0]
    assert not store.is_whole("sessions")


def test_files_out_of_a_directory_are_not_to_be_looked_at_there(store):
    put(
        store,
        done_turn("a", files={f"{APP}/p.py": True, f"{APP}2/p.py": True, "/etc/hosts": False}),
    )
    assert [each.path for each in store.list_unlooked(APP, 10)] == [f"{APP}/p.py"]


def test_what_files_were_like_is_forgotten_with_their_project(store):
    put(store, done_turn("a", files={f"{APP}/p.py": True}))
    store.keep_roots([APP])
    look_at_all(store)
    store.keep_roots([])
    assert store.find_state("sessions", "a").files == ()
    assert look_at_all(store) == [f"{APP}/p.py"]


def test_commits_that_no_branch_has_are_told_of_their_turn(store):
    put(store, done_turn("a", place=f"{APP}/sub", commits=("0a1b2c3", "4d5e6f7")))
    put(store, done_turn("b", place="/w/other", commits=("0a1b2c3",)), entry="T.jsonl")
    assert store.list_commits(APP) == (["0a1b2c3", "4d5e6f7"], NOW)
    store.set_gone(APP, ["0a1b2c3"])
    assert store.find_state("sessions", "a").gone == ("0a1b2c3",)
    assert store.find_state("sessions", "b").gone == ()
    store.set_gone(APP, [])
    assert store.find_state("sessions", "a").gone == ()


def test_a_file_of_another_format_is_refused(tmp_path):
    path = str(tmp_path / "recall.sqlite")
    RecallStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(sqlite3.DatabaseError, match="another format"):
        RecallStore(path)
