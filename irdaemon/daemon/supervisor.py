"""The caretaker: what has to be looked after now and then, on a thread of its own.

It starts what nobody waits for (the watches of a large tree, the schedule), keeps the watcher on
the corpora's roots, the process within its limits, and an account of how everything is. A slow disk
holds up this thread and no other; what fails is tried again at the next tick.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from irdaemon.config.corpus import Corpus
from irdaemon.daemon.resources import Ceilings
from irdaemon.daemon.schedule import Schedule
from irdaemon.engine import Engine
from irdaemon.engine.health import Health
from irdaemon.watch import Watcher

log = logging.getLogger(__name__)

_TICK_S = 1.0
_EXAMINED_EVERY_S = 10.0
_SOUGHT_EVERY_S = 60.0
_COMPLAINS_EVERY_S = 60.0


class Caretaker(threading.Thread):
    """Tick about once a second until told to stop.

    `ticked` is when, on the monotonic clock, the last tick succeeded; `sentence` says how
    everything was of late. `seek` is called once a minute, to look for what nobody watches yet.
    """

    def __init__(
        self,
        engine: Engine,
        watcher: Watcher,
        schedule: Schedule,
        ceilings: Ceilings,
        seek: Callable[[], None] = lambda: None,
    ):
        super().__init__(name="caretaker", daemon=True)
        self.ticked = time.monotonic()
        self.watches = False
        self.sentence = "not yet examined"
        self._engine = engine
        self._watcher = watcher
        self._schedule = schedule
        self._ceilings = ceilings
        self._seek = seek
        self._sought_at = time.monotonic()
        self._watched: Mapping[str, Corpus] = {}
        self._examined_at = float("-inf")
        self._complained_at = float("-inf")
        self._late: dict[str, float | None] = {}
        self._stopping = threading.Event()

    def run(self) -> None:
        """Tick until told to stop; a tick that fails is logged, and the next one tries again."""
        while not self._stopping.is_set():
            now = time.monotonic()
            try:
                self.tick(now)
                self.ticked = now
            except Exception:
                if now - self._complained_at >= _COMPLAINS_EVERY_S:
                    self._complained_at = now
                    log.exception("the caretaker failed; it goes on")
            self._stopping.wait(_TICK_S)

    def tick(self, now: float) -> None:
        """Let the watcher, the schedule, the limits and the idle be looked after."""
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
        if now - self._sought_at >= _SOUGHT_EVERY_S:
            self._sought_at = now
            self._seek()
        if now - self._examined_at >= _EXAMINED_EVERY_S:
            self._examined_at = now
            self._ceilings.tick(now)
            self._examine(self._engine.health())

    def stop(self) -> None:
        """End after the present tick, without waiting for it."""
        self._stopping.set()

    def _examine(self, health: Health) -> None:
        self.sentence = health.sentence()
        for corpus in health.corpora:
            if corpus.late and self._late.get(corpus.name) != corpus.looked_at:
                self._late[corpus.name] = corpus.looked_at
                self._watcher.distrust()
