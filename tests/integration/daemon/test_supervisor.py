"""The caretaker goes on whatever fails, and tells the watcher when events do not come."""

import time
from dataclasses import dataclass, field, replace

from irdaemon.daemon.supervisor import Caretaker
from irdaemon.engine.health import Facts, Policy, Vitals, health
from irdaemon.engine.lag import Standing


@dataclass
class Stand:
    """Stands in for engine, watcher, schedule and ceilings: notes what is asked of it."""

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

    def distrust(self):
        self.asked.append("distrust")

    def start(self):
        self.asked.append("start")

    def tick(self, now):
        self.asked.append("tick")

    def revive(self):
        self.asked.append("revive")


def caring():
    stand = Stand()
    return Caretaker(stand, stand, stand, stand), stand


def test_it_starts_what_it_looks_after_once():
    caretaker, stand = caring()
    assert not caretaker.watches
    caretaker.tick(0.0)
    caretaker.tick(1.0)
    assert (stand.asked.count("start"), caretaker.watches) == (2, True)  # watcher and schedule


def test_once_a_minute_it_has_new_places_sought():
    stand, sought = Stand(), []
    caretaker = Caretaker(stand, stand, stand, stand, lambda: sought.append(True))
    start = time.monotonic()
    for second in range(130):
        caretaker.tick(start + second)
    assert len(sought) == 2


def test_changes_that_came_without_an_event_cost_the_watches_their_trust_once_a_look():
    caretaker, stand = caring()
    stand.standing = replace(stand.standing, late=3)
    for now in (0.0, 10.0, 20.0):
        caretaker.tick(now)
    assert stand.asked.count("distrust") == 1
    stand.looked_at = 2.0
    caretaker.tick(30.0)
    assert stand.asked.count("distrust") == 2


def test_it_keeps_a_sentence_about_how_everything_is():
    caretaker, stand = caring()
    caretaker.tick(0.0)
    assert caretaker.sentence == "ok"
    stand.standing = replace(stand.standing, late=3)
    caretaker.tick(10.0)
    assert caretaker.sentence.startswith("stale: a: 3 changes")


def test_a_tick_that_fails_is_tried_again_and_counts_as_no_sign_of_life():
    caretaker, stand = caring()
    stand.failing = True
    caretaker.ticked = before = -1.0
    caretaker.start()
    deadline = time.monotonic() + 10
    while "start" not in stand.asked:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert (caretaker.is_alive(), caretaker.ticked) == (True, before)
    stand.failing = False
    while caretaker.ticked == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    caretaker.stop()
    caretaker.join(5)
    assert not caretaker.is_alive()
