"""What is kept of turns: the files that they touched, as they were then, and their commits."""

import sqlite3
from contextlib import closing

import pytest

from irdaemon.contrib.recall.store import FORMAT, DoneRun, FileState, RecallStore
from tests.support.recall import NOW, done_turn

APP = "/w/app"


@pytest.fixture
def store(tmp_path):
    store = RecallStore(str(tmp_path / "recall.sqlite"))
    yield store
    store.close()


def put(store, *turns, entry="S.jsonl", partial=False):
    store.put_turns("sessions", entry, turns, partial)


def list_held(store, column):
    """Return a column of the runs as the file has it."""
    with closing(sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)) as db:
        return [each for (each,) in db.execute(f"SELECT {column} FROM runs ORDER BY turn, n")]


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


@pytest.mark.parametrize(
    "after",
    [
        (DoneRun("make test", "make test -k", signatures=("s1",), failed=True),),
        (DoneRun("make", "make", signatures=("s2", "s1"), failed=True),),
        (),
    ],
)
def test_runs_that_are_read_otherwise_replace_those_of_the_turn_and_leave_its_files(store, after):
    before = (DoneRun("make", "make", signatures=("s1",), failed=True), DoneRun(wrote="/w/p"))
    put(store, done_turn("a", files={f"{APP}/p.py": True}, runs=before))
    look_at_all(store)
    put(store, done_turn("a", files={f"{APP}/p.py": True}, runs=after))
    assert list_held(store, "command") == [each.command for each in after]
    found = store.find_failures(["s1", "s2"], "", 10)
    assert [each.shared for each in found] == [len(each.signatures) for each in after]
    assert store.find_state("sessions", "a").files[0].blob == "b1"


def test_runs_that_were_pruned_come_back_and_the_files_of_their_turn_stay(store):
    turns = [
        done_turn(name, NOW + n, files={f"{APP}/{name}.py": True}, runs=(DoneRun("make", "make"),))
        for n, name in enumerate("ab")
    ]
    put(store, *turns)
    look_at_all(store)
    store.prune_runs(1)
    assert store.count("runs") == 1
    put(store, *turns)
    assert store.count("runs") == 2
    assert look_at_all(store) == []
    assert [store.find_state("sessions", each).files[0].blob for each in "ab"] == ["b1", "b1"]


def test_runs_of_a_format_that_kept_secrets_are_read_again_and_files_stay(tmp_path, store):
    turn = done_turn("a", files={f"{APP}/p.py": True}, runs=(DoneRun("mysql hunter2", "mysql"),))
    put(store, turn)
    look_at_all(store)
    store.set_whole("sessions")
    store.close()
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("PRAGMA user_version = 2")
    with pytest.raises(sqlite3.DatabaseError, match="another format"):
        RecallStore(store.path, read_only=True)
    with closing(RecallStore(store.path)) as again:
        assert (again.count("runs"), again.is_whole("sessions")) == (0, False)
        assert again.find_state("sessions", "a").files[0].blob == "b1"
        assert look_at_all(again) == []
        assert not any(b"hunter2" in each.read_bytes() for each in tmp_path.iterdir())
        put(again, turn)
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    with closing(RecallStore(store.path)) as again:
        assert again.count("runs") == 1


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
    made = store.list_commits()
    assert {(each.place, each.hash, each.at) for each in made} == {
        (f"{APP}/sub", "0a1b2c3", NOW),
        (f"{APP}/sub", "4d5e6f7", NOW),
        ("/w/other", "0a1b2c3", NOW),
    }
    of_app = [each for each in made if each.place != "/w/other"]
    store.set_gone(of_app, ["0a1b2c3"])
    assert store.find_state("sessions", "a").gone == ("0a1b2c3",)
    assert store.find_state("sessions", "b").gone == ()
    store.set_gone(of_app, [])
    assert store.find_state("sessions", "a").gone == ()


def test_a_file_of_another_format_is_refused(tmp_path):
    path = str(tmp_path / "recall.sqlite")
    RecallStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(sqlite3.DatabaseError, match="another format"):
        RecallStore(path)
