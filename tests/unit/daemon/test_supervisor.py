"""The supervisor goes on whatever fails; it has the watches added again when no events come."""

import time
from dataclasses import dataclass, field, replace

from irdaemon.daemon.supervisor import Supervisor
from irdaemon.engine.health import Facts, Policy, Vitals, health
from irdaemon.engine.lag import Standing


@dataclass
class Stand:
    """Stands in for engine, watcher, schedule and limits: notes what is asked of it."""

    corpora: dict = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    looked_at: float = 1.0
    failing: bool = False
    asked: list = field(default_factory=list)

    def health(self):
        facts = Facts("a", {}, self.standing, self.looked_at)
        return health((facts,), Vitals(), Policy(), 0.0)

    def doze(self):
        if self.failing:
            raise OSError("no disk")

    def set_roots(self, roots):
        self.asked.append("roots")

    def rewatch(self):
        self.asked.append("rewatch")

    def start(self):
        self.asked.append("start")

    def tick(self, now):
        self.asked.append("tick")

    def revive(self):
        self.asked.append("revive")


def supervising():
    stand = Stand()
    return Supervisor(stand, stand, stand, stand), stand


def test_it_starts_watcher_and_schedule_once():
    supervisor, stand = supervising()
    assert not supervisor.watches
    supervisor.tick(0.0)
    supervisor.tick(1.0)
    assert (stand.asked.count("start"), supervisor.watches) == (2, True)  # watcher and schedule


def test_once_a_minute_it_seeks_new_roots():
    stand, sought = Stand(), []
    supervisor = Supervisor(stand, stand, stand, stand, lambda: sought.append(True))
    start = time.monotonic()
    for second in range(130):
        supervisor.tick(start + second)
    assert len(sought) == 2


def test_changes_without_an_event_have_the_watches_added_again_once_a_scan():
    supervisor, stand = supervising()
    stand.standing = replace(stand.standing, late=3)
    for now in (0.0, 10.0, 20.0):
        supervisor.tick(now)
    assert stand.asked.count("rewatch") == 1
    stand.looked_at = 2.0
    supervisor.tick(30.0)
    assert stand.asked.count("rewatch") == 2


def test_it_keeps_a_sentence_about_how_everything_is():
    supervisor, stand = supervising()
    supervisor.tick(0.0)
    assert supervisor.sentence == "ok"
    stand.standing = replace(stand.standing, late=3)
    supervisor.tick(10.0)
    assert supervisor.sentence.startswith("stale: a: 3 changes")


def test_a_tick_that_fails_is_tried_again_and_counts_as_no_sign_of_life():
    supervisor, stand = supervising()
    stand.failing = True
    supervisor.ticked = before = -1.0
    supervisor.start()
    deadline = time.monotonic() + 10
    while "start" not in stand.asked:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert (supervisor.is_alive(), supervisor.ticked) == (True, before)
    stand.failing = False
    while supervisor.ticked == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    supervisor.stop()
    supervisor.join(5)
    assert not supervisor.is_alive()
