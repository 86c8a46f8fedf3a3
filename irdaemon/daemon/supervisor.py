"""The supervisor: it keeps the daemon's other parts going, on a thread of its own.

It starts what no request waits for (the watches of a large tree, the schedule), keeps the watcher
on the corpora's roots and the process within its limits, and examines the health. A slow disk holds
up this thread and no other; what fails is tried again at the next tick.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from irclient.counts import format_largest_unit
from irdaemon.config.corpus import Corpus
from irdaemon.daemon.resources import ResourceLimits
from irdaemon.daemon.schedule import Schedule
from irdaemon.daemon.threads import BUSY_S, TickThread
from irdaemon.engine import Engine
from irdaemon.engine.health import Health
from irdaemon.engine.projects import Tended
from irdaemon.watch import Watcher

log = logging.getLogger(__name__)

_EXAMINED_EVERY_S = 10.0
# Known places that do not exist yet are looked for by name: a millisecond for all of them.
_FOUND_EVERY_S = 2.0
_LOGGED_EVERY_S = 60.0


class SupervisorThread(TickThread):
    """Tick about once a second, or as often as its `sleep_s` says, until stopped.

    `ticked` is when, on the monotonic clock, the last tick succeeded; `sentence` is the health at
    the last examination. `find` is called every two seconds, to find known places that appeared.
    """

    def __init__(
        self,
        engine: Engine,
        watcher: Watcher,
        schedule: Schedule,
        limits: ResourceLimits,
        find: Callable[[], None] = lambda: None,
    ):
        super().__init__("supervisor", BUSY_S)
        self._begun = False
        self.sentence = "not yet examined"
        self._engine = engine
        self._watcher = watcher
        self._schedule = schedule
        self._limits = limits
        self._find = find
        self.sleep_s: Callable[[], float] = lambda: BUSY_S
        self._found_at = time.monotonic()
        self._watched: Mapping[str, Corpus] = {}
        self._tended: Mapping[str, Tended] = {}
        self._examined_at = float("-inf")
        self._missed_at: dict[str, float | None] = {}

    @property
    def watches(self) -> bool:
        """Return whether the watcher has been given the roots that there are now.

        Until then nothing can be said of how they are watched.
        """
        return self._watched is self._engine.corpora

    def wait_s(self) -> float:
        """Return for how many seconds to wait now."""
        return self.sleep_s()

    def log_failure(self, error: Exception, now: float) -> None:
        """Log why a tick failed with its traceback, unless that was done within a minute."""
        if now - self._logged_at >= _LOGGED_EVERY_S:
            self._logged_at = now
            log.exception("the supervisor failed; it goes on")

    def tick(self, now: float) -> None:
        """Start, update or restart what needs it, and examine the health now and then."""
        if not self._begun:
            self._watcher.start()
            self._schedule.start()
            self._begun = True
        self._engine.unload_idle()
        self._watch_roots()
        self._watcher.tick(now)
        self._schedule.revive()
        if now - self._found_at >= _FOUND_EVERY_S:
            self._found_at = now
            self._find()
        # Where nothing happens nothing becomes stale, and each time takes milliseconds.
        if now - self._examined_at >= _EXAMINED_EVERY_S * self.sleep_s() / BUSY_S:
            self._examined_at = now
            self._limits.tick(now)
            self._examine(self._engine.health())

    def _watch_roots(self) -> None:
        """Watch the roots of the corpora, and of projects what matters, where either changed."""
        corpora, tended = self._engine.corpora, self._engine.state.projects.tended
        if corpora is self._watched and tended is self._tended:
            return
        own = (
            root
            for corpus in corpora.values()
            if corpus.reindex.follows_changes
            for root in corpus.source.roots()
        )
        of_projects = (root for each in tended.values() for root in each.watched)
        self._watcher.set_roots((*own, *of_projects))
        self._watched, self._tended = corpora, tended

    def _examine(self, health: Health) -> None:
        self.sentence = health.sentence()
        for corpus in health.corpora:
            if corpus.missed_events and self._missed_at.get(corpus.name) != corpus.scanned_at:
                self._missed_at[corpus.name] = corpus.scanned_at
                self._watcher.rewatch()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A thread: whether it lives, and when, on the monotonic clock, it last made progress."""

    name: str
    alive: bool
    at: float


def find_dead(heartbeats: Iterable[Heartbeat]) -> tuple[str, ...]:
    """Return the names of the threads that died."""
    return tuple(each.name for each in heartbeats if not each.alive)


def find_stuck(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> tuple[str, ...]:
    """Return which threads died, or made no progress for longer than `after_s` s (0: never)."""
    found = []
    for each in heartbeats:
        if not each.alive:
            found.append(f"the {each.name} died")
        elif after_s and now - each.at > after_s:
            found.append(
                f"the {each.name} has made no progress for {format_largest_unit(now - each.at)}"
            )
    return tuple(found)
