"""Maintenance: what is due now, why, and that it is done."""

from dataclasses import replace
from datetime import datetime

import pytest

from irclient.errors import NotFound
from irdaemon.config.reindex import Reindex, parse_quiet_hours
from irdaemon.engine.due import find_due_jobs
from irdaemon.engine.queue import Job
from irdaemon.ingest.scan import ScanRequest
from irdaemon.ledger import Failure
from tests.support.corpora import Counting, engine, mapped

NOON = datetime(2026, 6, 16, 12).timestamp()
HOUR = 3600.0


class At:
    """A clock that is set."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


def corpus(reindex, name="m"):
    return replace(mapped({"a": "fill a form"}, name), reindex=reindex)


def running(*corpora, clock=None, **options):
    return engine(*corpora, clock=clock or At(), **{"calibrating": False, **options})


def tasks(made, name=None, **how):
    return {(task.corpus, task.work): task for task in made.maintain(name, **how)}


def held(made, name="m"):
    return made.snapshot.corpora[name].rows.n_artifacts


def test_a_corpus_that_follows_changes_is_always_due_and_is_scanned():
    made = running(corpus(Reindex()))
    (task,) = made.maintain("m")
    assert (task.work, task.due, task.reason) == ("scan", True, "it was never scanned")
    assert task.job
    made.drain()
    assert held(made) == 1
    assert tasks(made)["m", "scan"].due


def test_a_dry_run_says_what_is_due_and_requests_nothing():
    made = running(corpus(Reindex()))
    task = tasks(made, dry_run=True)["m", "scan"]
    assert (task.due, task.job) == (True, 0)
    made.drain()
    assert held(made) == 0


def test_an_interval_is_scanned_once_and_again_when_it_has_passed():
    clock = At()
    made = running(corpus(Reindex("interval", 24 * HOUR)), clock=clock)
    assert made.maintain("m")[0].job
    made.drain()
    clock.now += HOUR
    (within,) = made.maintain("m")
    assert (within.due, within.job) == (False, 0)
    assert within.reason == "scanned 60 min ago, due every 24 h"
    clock.now += 24 * HOUR
    assert made.maintain("m")[0].job


def test_what_is_indexed_by_hand_is_not_due_and_says_how_it_is_indexed():
    made = running(corpus(Reindex("manual")))
    (task,) = made.maintain("m")
    assert (task.due, task.job, task.reason) == (False, 0, "only by hand: irc build m")
    made.request(Job("reconcile", "m"))
    made.drain()
    assert held(made) == 1


def test_what_is_to_be_indexed_by_hand_is_not_said_to_be_building():
    made = running(corpus(Reindex("manual")), corpus(Reindex("interval"), "n"))
    assert made.discover("form").freshness["building"] == ["n"]
    states = {each["name"]: each["state"] for each in made.status()["corpora"]}
    assert states == {"m": "unscanned", "n": "building"}
    made.request(Job("reconcile", "m"))
    assert made.status()["corpora"][0]["state"] == "building"
    made.drain()
    assert made.status()["corpora"][0]["state"] == "ready"


def test_the_first_scan_at_an_interval_does_not_wait_for_the_quiet_hours_and_later_ones_do():
    clock = At()
    interval = corpus(Reindex("interval", HOUR))
    made = running(interval, clock=clock, quiet=parse_quiet_hours("22:00-06:00"))
    assert find_due_jobs(made.state, clock.now) == [Job("reconcile", "m")]
    made.maintain("m")
    made.drain()
    clock.now += 2 * HOUR
    (put_off,) = made.maintain("m")
    assert not put_off.due
    assert put_off.reason.endswith(
        "due every 60 min; put off until the quiet hours, 22:00 to 06:00"
    )
    clock.now += 9 * HOUR
    assert made.maintain("m")[0].due


def test_records_without_a_vector_are_due_to_be_embedded():
    made = running(
        replace(corpus(Reindex()), embedder="counting"), embedders={"counting": Counting()}
    )
    Counting.down = True
    try:
        made.maintain()
        made.drain()
        task = tasks(made, dry_run=True)["m", "embed"]
        assert (task.due, task.reason) == (True, "1 record has no vector")
    finally:
        Counting.down = False
    made.maintain()
    made.drain()
    assert ("m", "embed") not in tasks(made, dry_run=True)


def test_floors_that_are_to_be_found_are_due():
    items = {f"n{number}": f"item {number} about topic {number % 7}" for number in range(60)}
    made = running(mapped(items))
    made.request(Job("reconcile", "m"))
    made.drain()
    assert ("m", "calibrate") not in tasks(made, dry_run=True)
    made.state.options = replace(made.state.options, calibrating=True)
    assert tasks(made, dry_run=True)["m", "calibrate"].due


def test_the_ledger_is_compacted_at_its_interval_and_only_where_all_is_maintained():
    clock = At()
    made = running(corpus(Reindex()), clock=clock, compact_every_s=24 * HOUR)
    assert ("", "compact") not in tasks(made, "m", dry_run=True)
    assert tasks(made)["", "compact"].reason == "not yet done, due every 24 h"
    made.drain()
    clock.now += HOUR
    after = tasks(made, dry_run=True)["", "compact"]
    assert (after.due, after.reason) == (False, "done 60 min ago, due every 24 h")
    clock.now += 24 * HOUR
    assert tasks(made, dry_run=True)["", "compact"].due


def test_a_compaction_that_is_switched_off_or_put_off_is_not_due():
    made = running(corpus(Reindex()))
    assert "compact_minutes = 0" in tasks(made, dry_run=True)["", "compact"].reason
    hours = parse_quiet_hours("22:00-06:00")
    made = running(corpus(Reindex()), compact_every_s=HOUR, quiet=hours)
    task = tasks(made, dry_run=True)["", "compact"]
    assert (task.due, "quiet hours" in task.reason) == (False, True)


def test_an_unknown_corpus_is_not_found_and_every_other_is_considered_by_itself():
    made = running(corpus(Reindex()), corpus(Reindex("manual"), "n"))
    with pytest.raises(NotFound):
        made.maintain("x")
    assert [(task.corpus, task.due) for task in made.maintain(dry_run=True)] == [
        ("m", True),
        ("n", False),
        ("", False),
    ]


def test_another_configuration_scans_what_is_new_but_not_what_is_indexed_by_hand():
    made = running()
    made.reconfigure([corpus(Reindex("interval")), corpus(Reindex("manual"), "n")])
    made.drain()
    assert (held(made, "m"), held(made, "n")) == (1, 0)


def test_another_try_at_failures_leaves_what_does_not_follow_changes_to_its_next_scan():
    made = running(corpus(Reindex()), corpus(Reindex("manual"), "n"))
    for name in ("m", "n"):
        made.ledger.failures.put(Failure(name, "/a", "a", "not to be read", "1", NOON))
    made.request(Job("retry"))
    made.step()
    assert [len(made.state.work.list_scans(name)) for name in ("m", "n")] == [1, 0]


def test_on_a_battery_what_is_due_says_that_it_waits_for_another_supply():
    clock, power = At(), [True]
    interval = corpus(Reindex("interval", HOUR))
    options = {"compact_every_s": HOUR, "on_battery": lambda: power[0]}
    made = running(interval, clock=clock, **options)
    assert tasks(made, dry_run=True)["m", "scan"].due, "the first scan does not wait"
    made.maintain("m")
    made.drain()
    clock.now += 2 * HOUR
    found = tasks(made, dry_run=True)
    for work in (("m", "scan"), ("", "compact")):
        assert not found[work].due
        assert found[work].reason.endswith("put off while the machine is on its battery")
    power[0] = False
    found = tasks(made, dry_run=True)
    assert found["m", "scan"].due
    assert found["", "compact"].due


def test_a_scan_that_finds_all_as_it_was_writes_nothing_and_is_known():
    clock = At()
    made = running(corpus(Reindex()), clock=clock)
    made.request(Job("reconcile", "m"))
    made.drain()
    connection, before = made.ledger._store._db, made.snapshot
    written = connection.total_changes
    clock.now += HOUR
    made.request(Job("reconcile", "m"))
    made.drain()
    assert connection.total_changes == written
    assert made.snapshot.generation == before.generation
    assert made.status()["corpora"][0]["last_reconcile"] == clock.now


def test_what_a_scan_stored_and_a_failed_write_kept_back_is_published_by_the_next(monkeypatch):
    source = {"a": "fill a form"}
    made = running(replace(mapped(source), reindex=Reindex()))
    made.request(Job("reconcile", "m"))
    made.drain()
    source["b"] = "peel potatoes"
    with monkeypatch.context() as failing:
        failing.setattr(made.writer.publisher, "publish", lambda corpus: None)
        made.request(Job("reconcile", "m"))
        made.drain()
    assert held(made) == 1
    made.request(Job("reconcile", "m", ScanRequest(routine=True)))
    made.drain()
    assert held(made) == 2


def test_at_a_start_every_corpus_is_scanned_but_those_by_hand_the_small_ones_first():
    large = replace(mapped({name: f"words of {name}" for name in "abc"}, "large"))
    made = running(large, corpus(Reindex(), "small"), corpus(Reindex("manual"), "hand"))
    for name in ("large", "small"):
        made.request(Job("reconcile", name))
    made.drain()
    at_start = find_due_jobs(made.state, NOON, at_start=True)
    assert [job.corpus for job in at_start] == ["small", "large"]
    assert find_due_jobs(made.state, NOON) == []


def test_a_compaction_that_was_put_off_is_due_until_one_has_begun():
    made = running(corpus(Reindex()))
    made.state.compaction_waits = True
    assert find_due_jobs(made.state, NOON) == [Job("compact")]
    made.request(Job("compact"))
    made.drain()
    assert find_due_jobs(made.state, NOON) == []


def test_a_scan_that_is_due_is_requested_while_a_long_job_runs():
    clock = At()
    made = running(corpus(Reindex("interval", HOUR)), corpus(Reindex(), "n"), clock=clock)
    made.drain()
    made.request(Job("embed", "n"))
    long = made.state.work.take()
    made.progress(long.number).todo = 10_000
    for job in find_due_jobs(made.state, clock.now):
        made.request(job)
    assert made.state.work.take_before(long).is_scan_of("m")


def test_a_corpus_that_is_taken_away_takes_what_waits_for_it_along():
    made = running(corpus(Reindex()), corpus(Reindex(), "n"))
    waiting = made.request(Job("embed", "m"))
    made.state.retries.note(Job("reconcile", "m"), NOON)
    made.reconfigure([made.corpora["n"]])
    made.drain()
    assert made.progress(waiting).report == "the corpus is gone"
    assert made.state.retries.take_due(NOON + HOUR) == []
