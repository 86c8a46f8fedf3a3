"""The schedule: asks for upkeep, and can be stopped whatever it is doing."""

import threading
from dataclasses import replace
from datetime import datetime

import pytest

from irdaemon.config.reindex import Reindex, parse_quiet_hours
from irdaemon.config.sections import ScheduleConfig
from irdaemon.daemon.schedule import Schedule
from irdaemon.engine.queue import Job
from tests.support.corpora import engine, mapped

NOON = datetime(2026, 6, 16, 12).timestamp()
HOUR = 3600.0


class Asked:
    """Stands in for the engine: notes what it was asked for."""

    def __init__(self):
        self.corpora = {name: mapped({}, name) for name in ("notes", "skills")}
        self.state = engine().state
        self.jobs = []
        self.routine = []

    def request(self, job):
        self.jobs.append((job.kind, job.corpus))
        self.routine += [job.scan.routine] if job.kind == "reconcile" else []


def threads():
    return {thread.name for thread in threading.enumerate()}


def test_it_asks_for_a_look_at_every_corpus_another_try_and_upkeep():
    asked = Asked()
    schedule = Schedule(asked, ScheduleConfig())
    schedule.reconcile_all()
    schedule.retry_failures()
    schedule.compact()
    assert asked.jobs == [
        ("reconcile", "notes"),
        ("reconcile", "skills"),
        ("retry", ""),
        ("compact", ""),
    ]


def test_its_looks_are_routine_in_which_nothing_new_is_expected():
    asked = Asked()
    Schedule(asked, ScheduleConfig()).reconcile_all()
    assert asked.routine == [True, True]


def test_a_scheduler_that_died_is_started_anew():
    schedule = Schedule(Asked(), ScheduleConfig())
    schedule.start()
    died = schedule._scheduler
    schedule.restart_dead()
    assert schedule._scheduler is died
    died.shutdown(wait=True)
    died._thread = threading.Thread()  # one that does not run
    schedule.restart_dead()
    assert schedule._scheduler is not died
    assert schedule._scheduler.running
    schedule.stop()


def test_a_start_after_the_stop_starts_nothing():
    schedule = Schedule(Asked(), ScheduleConfig())
    before = threads()
    schedule.stop()
    schedule.start()
    assert threads() == before


@pytest.mark.parametrize("_", range(20))
def test_a_stop_beside_a_start_raises_nothing_and_leaves_no_thread(_):
    before = threads()
    schedule = Schedule(Asked(), ScheduleConfig())
    starting = threading.Thread(target=schedule.start)
    starting.start()
    schedule.stop()
    starting.join()
    schedule.stop()
    assert threads() == before


def scheduled(reindex, quiet="", on_battery=lambda: False):
    """Return an engine with a corpus that was scanned, its schedule, and how to set its clock."""
    time = [NOON]
    corpus = replace(mapped({"a": "fill a form"}), reindex=reindex)
    made = engine(corpus, clock=lambda: time[0], calibrating=False, quiet=parse_quiet_hours(quiet))
    made.state.options = replace(made.state.options, on_battery=on_battery)
    made.request(Job("reconcile", "m"))
    made.drain()
    return made, Schedule(made, ScheduleConfig()), lambda hours: time.__setitem__(0, NOON + hours)


def waiting(made):
    found = []
    while job := made.state.work.take():
        found.append((job.kind, job.corpus))
        made.state.work.end(job.number, "done", "")
    return found


def test_what_is_scanned_at_an_interval_is_scanned_when_that_has_passed_and_not_routinely():
    made, schedule, set_clock = scheduled(Reindex("interval", 12 * HOUR))
    schedule.reconcile_all()
    set_clock(11 * HOUR)
    schedule.look()
    assert waiting(made) == []
    set_clock(12 * HOUR)
    schedule.look()
    assert waiting(made) == [("reconcile", "m")]


def test_what_is_indexed_by_hand_is_never_scanned_by_the_schedule():
    made, schedule, set_clock = scheduled(Reindex("manual"))
    set_clock(10_000 * HOUR)
    schedule.reconcile_all()
    schedule.look()
    assert waiting(made) == []


def test_a_scan_at_an_interval_waits_for_the_quiet_hours():
    made, schedule, set_clock = scheduled(Reindex("interval", HOUR), quiet="22:00-06:00")
    set_clock(9 * HOUR)
    schedule.look()
    assert waiting(made) == []
    set_clock(10 * HOUR)
    schedule.look()
    assert waiting(made) == [("reconcile", "m")]


def test_a_compaction_that_is_due_by_day_is_done_once_in_the_quiet_hours():
    made, schedule, set_clock = scheduled(Reindex(), quiet="22:00-06:00")
    schedule.compact()
    schedule.look()
    assert waiting(made) == []
    set_clock(11 * HOUR)
    schedule.look()
    schedule.look()
    assert waiting(made) == [("compact", "")]


@pytest.mark.parametrize(
    ("idle_s", "on_battery", "scans"), [(0, False, 4), (901, False, 2), (0, True, 2)]
)
def test_where_nobody_asks_or_on_a_battery_every_other_routine_scan_is_left_out(
    idle_s, on_battery, scans, monkeypatch
):
    made, schedule, _ = scheduled(Reindex(), on_battery=lambda: on_battery)
    monkeypatch.setattr(type(made.state.host), "measure_idle_s", lambda self: idle_s)
    found = []
    for _turn in range(4):
        schedule.reconcile_all()
        found += waiting(made)
    assert found == scans * [("reconcile", "m")]


def test_on_a_battery_upkeep_waits_until_it_is_on_none():
    power = [True]
    made, schedule, set_clock = scheduled(Reindex("interval", HOUR), on_battery=lambda: power[0])
    set_clock(2 * HOUR)
    for request in (schedule.look, schedule.compact, schedule.retry_failures, schedule.learn):
        request()
    assert waiting(made) == []
    power[0] = False
    schedule.look()
    assert waiting(made) == [("reconcile", "m"), ("compact", "")]
