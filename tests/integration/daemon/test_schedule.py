"""The schedule: asks for upkeep, and can be stopped whatever it is doing."""

import threading

import pytest

from irdaemon.config.config import ScheduleConfig
from irdaemon.daemon.schedule import Schedule


class Asked:
    """Stands in for the engine: notes what it was asked for."""

    corpora = ("notes", "skills")

    def __init__(self):
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
    schedule.revive()
    assert schedule._scheduler is died
    died.shutdown(wait=True)
    died._thread = threading.Thread()  # one that does not run
    schedule.revive()
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
