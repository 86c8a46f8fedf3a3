"""A full disk: the last snapshot answers, the status says so, and it goes on when there is room."""

import errno
import sqlite3
import tempfile
from functools import partial
from pathlib import Path

import pytest

from irdaemon.engine.queue import Job
from irdaemon.engine.retries import Retries
from irdaemon.ingest.scan import ScanRequest
from irdaemon.types import Query
from tests.support.clocks import Clock
from tests.support.corpora import contents, engine, mapped
from tests.support.ledgers import everything

FULL = "database or disk is full"


def full(ledger):
    """Let a ledger grow no further, as a full disk would."""
    ledger._store.run("PRAGMA max_page_count = 1")


def room(ledger):
    ledger._store.run("PRAGMA max_page_count = 1000000")


@pytest.fixture
def items():
    return {f"t{n}": f"words about thing number {n}" for n in range(20)}


@pytest.fixture
def clock():
    return Clock(1000.0)


@pytest.fixture
def made(items, clock, tmp_path):
    made = engine(mapped(items), path=str(tmp_path / "ledger.sqlite"), clock=clock)
    look(made)
    yield made
    made.ledger.close()


def look(made):
    number = made.request(Job("reconcile", "m"))
    made.drain()
    return made.progress(number)


def found(made, text):
    return [hit.artifact_id for hit in made.search(Query(text, mode="lexical")).results]


def problem(made):
    return made.status()["ledger"]["problem"]


def grow(items):
    items["large"] = "peel potatoes " + "and on " * 5000


def test_a_full_disk_leaves_the_answers_and_the_status_says_since_when(made, items, clock):
    grow(items)
    full(made.ledger)
    assert FULL in look(made).report
    assert found(made, "thing number 3")
    assert problem(made) == {"since": 1000.0, "error": FULL}
    clock.now += 5
    look(made)
    assert problem(made)["since"] == 1000.0


def test_a_file_system_that_turned_read_only_is_named_and_answers_go_on(
    made, items, clock, monkeypatch
):
    def refusing(**how):
        raise OSError(errno.EROFS, "Read-only file system")

    grow(items)
    with monkeypatch.context() as read_only:
        read_only.setattr(tempfile, "TemporaryFile", refusing)
        made.ledger._store.run("PRAGMA query_only = ON")
        look(made)
        assert "read-only: make it writable" in problem(made)["error"]
        assert found(made, "thing number 3")
        assert made.records("m/t3")
    made.ledger._store.run("PRAGMA query_only = OFF")
    clock.now += 5
    made.drain()
    assert (problem(made), found(made, "potatoes")) == (None, ["large"])


def test_what_waits_for_room_is_pending_in_every_answer(made, items):
    assert made.search(Query("thing")).freshness["pending"] == 0
    grow(items)
    full(made.ledger)
    look(made)
    assert made.search(Query("thing")).freshness["pending"] == 1
    (corpus,) = made.status()["corpora"]
    assert (corpus["pending"], corpus["state"]) == (1, "degraded")


def test_it_goes_on_by_itself_once_there_is_room(made, items, clock, caplog):
    grow(items)
    full(made.ledger)
    look(made)
    room(made.ledger)
    made.drain()
    assert found(made, "potatoes") == []  # it is not tried again at once
    clock.now += 5
    made.drain()
    assert found(made, "potatoes") == ["large"]
    assert problem(made) is None
    assert "cannot be written" in caplog.text
    assert "written again" in caplog.text


def test_a_file_that_is_lost_while_the_disk_is_full_is_put_back_all_the_same(made, items, clock):
    grow(items)
    full(made.ledger)
    look(made)
    for end in ("", "-wal", "-shm"):
        Path(made.ledger.path + end).unlink()
    made.drain()
    assert Path(made.ledger.path).exists()
    clock.now += 5
    made.drain()
    assert found(made, "potatoes") == ["large"]


def test_a_transaction_that_found_no_room_leaves_nothing_behind(made, items):
    before = contents(made.ledger, "m")
    grow(items)
    full(made.ledger)
    look(made)
    assert contents(made.ledger, "m") == before
    assert made.ledger.check() == []


class Failing(sqlite3.Connection):
    """A connection of which one write fails: the one at which `left` has come down to nothing."""

    left = -1

    def execute(self, statement, *values):
        _fail_if_due(statement)
        return super().execute(statement, *values)

    def executemany(self, statement, rows):
        _fail_if_due(statement)
        return super().executemany(statement, rows)


def _fail_if_due(statement):
    if statement.startswith(("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")):
        Failing.left -= 1
        if Failing.left == 0:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
            raise error


def test_whichever_write_fails_all_is_as_if_it_had_not_once_it_was_tried_again(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Failing))
    before = {f"t{n}": f"words about thing number {n}" for n in range(6)}
    after = {**before, "t2": "peel potatoes", "t9": "boil carrots"}
    del after["t4"]
    wanted = engine(mapped(after))
    look(wanted)
    failures = 0
    for number in range(1, 40):
        clock, items = Clock(1000.0), dict(before)
        made = engine(mapped(items), path=str(tmp_path / f"{number}.sqlite"), clock=clock)
        look(made)
        items.clear()
        items.update(after)
        Failing.left = number
        look(made)
        Failing.left = -1
        failures += problem(made) is not None
        clock.now += 5
        made.drain()
        assert problem(made) is None
        assert [each for each in made.ledger.check() if each.severe] == []
        assert everything(made.ledger, "hashing-512") == everything(wanted.ledger, "hashing-512")
        assert made.search(Query("potatoes", mode="lexical")).results[0].artifact_id == "t2"
        made.ledger.close()
    assert failures > 25


def test_failed_compaction_is_no_trouble_and_comes_again_by_itself(made, monkeypatch):
    def no_room():
        error = sqlite3.OperationalError(FULL)
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(made.ledger, "vacuum", no_room)
    made.request(Job("compact"))
    made.drain()
    assert problem(made) is None


def test_tries_come_at_longer_and_longer_intervals_until_one_succeeds():
    retries, now, job = Retries(), 0.0, Job("reconcile", "m")
    waits = []
    for _ in range(8):
        retries.note_unwritable(job, FULL, now)
        retries.settle(job, done=False)
        began = now
        while not retries.take_due(now):
            now += 0.5
        waits.append(now - began)
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    retries.settle(Job("reconcile", "other"), done=True)
    assert retries.problem
    retries.settle(job, done=True)
    assert retries.problem is None


def test_equal_wishes_that_failed_are_tried_as_one():
    retries = Retries()
    for path in ("/a", "/b"):
        retries.note_unwritable(Job("reconcile", "m", ScanRequest((path,))), FULL, 0.0)
    assert retries.count_paths() == 2
    (job,) = retries.take_due(9.0)
    assert job.scan.under == ("/a", "/b")


def test_a_clock_that_is_set_back_does_not_stop_the_tries():
    retries = Retries()
    retries.note_unwritable(Job("reconcile", "m"), FULL, 1e9)
    assert retries.take_due(1000.0)


def test_tries_at_a_ledger_that_cannot_be_written_are_no_failures_of_the_job():
    retries, job = Retries(), Job("reconcile", "m")
    for now in range(0, 600, 60):
        retries.note_unwritable(job, FULL, now)
        assert retries.take_due(now + 30.0) == [job]
    assert retries.note(job, 600.0).times == 1


def test_a_ledger_that_fails_one_job_and_then_another_is_a_problem_until_both_are_settled():
    retries, jobs = Retries(), [Job("reconcile", "m"), Job("embed", "m")]
    for job in jobs:
        retries.note_unwritable(job, FULL, 0.0)
    assert retries.take_due(1.5) == []  # they wait together, as long as the last
    assert retries.take_due(2.0) == jobs
    retries.settle(jobs[0], done=True)
    assert retries.problem
    retries.note(jobs[1], 2.0)  # an error of its own: the ledger took what it wrote
    retries.settle(jobs[1], done=False)
    assert retries.problem is None
    assert retries.take_due(3.0) == [jobs[1]]


def test_a_job_whose_corpus_is_gone_does_not_keep_the_ledger_from_being_well_again(made, clock):
    state = made.state
    state.retries.note_unwritable(Job("embed", "gone"), FULL, clock.now)
    assert problem(made)["error"] == FULL
    clock.now += 60
    made.drain()
    assert problem(made) is None
