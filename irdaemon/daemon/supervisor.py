"""The supervisor: a thread that keeps the daemon's other parts running.

It starts what takes long (the watches of a large tree, the schedule), keeps the watcher on the
corpora's roots and the process within its limits, and restarts what died. A slow disk delays this
thread and no other; what fails is tried again at the next tick.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from irdaemon.config.corpus import Corpus
from irdaemon.daemon.resources import ResourceLimits
from irdaemon.daemon.schedule import Schedule
from irdaemon.engine import Engine
from irdaemon.engine.health import Health
from irdaemon.watch import Watcher

log = logging.getLogger(__name__)

_TICK_S = 1.0
_EXAMINE_EVERY_S = 10.0
_SEEK_EVERY_S = 60.0
_LOG_FAILURE_EVERY_S = 60.0


class Supervisor(threading.Thread):
    """Tick about once a second until stopped.

    `ticked` is when, on the monotonic clock, the last tick succeeded; `sentence` is the daemon's
    health at the last examination. `seek` is called once a minute, to find new roots.
    """

    def __init__(
        self,
        engine: Engine,
        watcher: Watcher,
        schedule: Schedule,
        limits: ResourceLimits,
        seek: Callable[[], None] = lambda: None,
    ):
        super().__init__(name="supervisor", daemon=True)
        self.ticked = time.monotonic()
        self.watches = False
        self.sentence = "not yet examined"
        self._engine = engine
        self._watcher = watcher
        self._schedule = schedule
        self._limits = limits
        self._seek = seek
        self._sought_at = time.monotonic()
        self._watched: Mapping[str, Corpus] = {}
        self._examined_at = float("-inf")
        self._failure_logged_at = float("-inf")
        self._late: dict[str, float | None] = {}
        self._stopping = threading.Event()

    def run(self) -> None:
        """Tick until stopped; a tick that fails is logged, and the next one tries again."""
        while not self._stopping.is_set():
            now = time.monotonic()
            try:
                self.tick(now)
                self.ticked = now
            except Exception:
                if now - self._failure_logged_at >= _LOG_FAILURE_EVERY_S:
                    self._failure_logged_at = now
                    log.exception("the supervisor failed; it tries again")
            self._stopping.wait(_TICK_S)

    def tick(self, now: float) -> None:
        """Tick the watcher, the schedule, the limits and the idle timer once."""
        if not self.watches:
            self._watcher.start()
            self._schedule.start()
            self.watches = True
        self._engine.doze()
        corpora = self._engine.corpora
        if corpora is not self._watched:
            self._watcher.set_roots(
                root for corpus in corpora.values() for root in corpus.source.roots()
            )
            self._watched = corpora
        self._watcher.tick(now)
        self._schedule.revive()
        if now - self._sought_at >= _SEEK_EVERY_S:
            self._sought_at = now
            self._seek()
        if now - self._examined_at >= _EXAMINE_EVERY_S:
            self._examined_at = now
            self._limits.tick(now)
            self._examine(self._engine.health())

    def stop(self) -> None:
        """End after the present tick, without waiting for it."""
        self._stopping.set()

    def _examine(self, health: Health) -> None:
        self.sentence = health.sentence()
        for corpus in health.corpora:
            if corpus.late and self._late.get(corpus.name) != corpus.looked_at:
                self._late[corpus.name] = corpus.looked_at
                self._watcher.rewatch()
