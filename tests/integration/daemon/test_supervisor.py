"""The supervisor goes on whatever fails, and tells the watcher when events do not come."""

import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

from irdaemon.config.reindex import Reindex
from irdaemon.daemon.daemon import SupervisorThread
from irdaemon.engine.health import Facts, Policy, ProcessHealth, judge_health
from irdaemon.engine.queue import Watermarks
from tests.support.corpora import skills


@dataclass
class Stand:
    """Stands in for engine, watcher, schedule and resource limits: notes what is asked of it."""

    corpora: dict = field(default_factory=dict)
    tended: dict = field(default_factory=dict)
    watermarks: Watermarks = field(default_factory=Watermarks)
    scanned_at: float = 1.0
    failing: bool = False
    asked: list = field(default_factory=list)

    @property
    def state(self):
        return SimpleNamespace(projects=SimpleNamespace(tended=self.tended))

    def judge_health(self):
        facts = Facts("a", {}, self.watermarks, self.scanned_at)
        return judge_health((facts,), ProcessHealth(), Policy(), 0.0)

    def unload_idle(self):
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

    def restart_dead(self):
        self.asked.append("revive")


def caring():
    stand = Stand()
    return SupervisorThread(stand, stand, stand, stand), stand


def test_it_starts_what_it_looks_after_once():
    supervisor, stand = caring()
    assert not supervisor.watches
    supervisor.tick(0.0)
    supervisor.tick(1.0)
    assert (stand.asked.count("start"), supervisor.watches) == (2, True)  # watcher and schedule


def test_roots_that_the_watcher_was_not_given_yet_are_not_said_to_be_unwatched():
    supervisor, stand = caring()
    during = []
    stand.set_roots = lambda roots: during.append(supervisor.watches)
    supervisor.tick(0.0)
    stand.corpora = {}  # another configuration
    assert not supervisor.watches
    supervisor.tick(1.0)
    assert (during, supervisor.watches) == ([False, False], True)


def test_only_what_follows_changes_is_watched(tmp_path):
    given = []
    followed, by_hand = skills(tmp_path / "a"), skills(tmp_path / "b", name="t")
    stand = Stand({"s": followed, "t": replace(by_hand, reindex=Reindex("manual"))})
    stand.set_roots = given.extend
    SupervisorThread(stand, stand, stand, stand).tick(0.0)
    assert [root.path for root in given] == [str(tmp_path / "a")]


def test_every_two_seconds_it_has_new_places_sought():
    stand, sought = Stand(), []
    supervisor = SupervisorThread(stand, stand, stand, stand, lambda: sought.append(True))
    start = time.monotonic()
    for second in range(130):
        supervisor.tick(start + second)
    assert len(sought) == 64


def test_changes_that_came_without_an_event_cost_the_watches_their_trust_once_a_look():
    supervisor, stand = caring()
    stand.watermarks = replace(stand.watermarks, missed_events=3)
    for now in (0.0, 10.0, 20.0):
        supervisor.tick(now)
    assert stand.asked.count("rewatch") == 1
    stand.scanned_at = 2.0
    supervisor.tick(30.0)
    assert stand.asked.count("rewatch") == 2


def test_it_keeps_a_sentence_about_how_everything_is():
    supervisor, stand = caring()
    supervisor.tick(0.0)
    assert supervisor.sentence == "ok"
    stand.watermarks = replace(stand.watermarks, missed_events=3)
    supervisor.tick(10.0)
    assert supervisor.sentence.startswith("stale: a: 3 changes")


def test_a_tick_that_fails_is_tried_again_and_counts_as_no_sign_of_life():
    supervisor, stand = caring()
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
