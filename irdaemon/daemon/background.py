"""The threads of what add-ons do beside the writer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from irdaemon.engine.observer import Background
from irdaemon.runtime.tracebacks import describe_error

log = logging.getLogger(__name__)

_LOGGED_EVERY_S = 60.0
_AGAIN_AFTER_S = 1.0


class BackgroundThread(threading.Thread):
    """Tick until stopped; a tick that fails is logged, and the next one tries again."""

    def __init__(self, work: Background):
        super().__init__(name=work.name, daemon=True)
        self._work = work
        self._woken = threading.Event()
        self._stopping = False
        self._logged_at = float("-inf")

    def run(self) -> None:
        """Tick, and close at the end."""
        self._woken.wait(self._work.first_in_s)
        while not self._stopping:
            self._woken.clear()
            self._woken.wait(self._tick())
        self._work.close()

    def _tick(self) -> float:
        try:
            return self._work.tick()
        except Exception as error:
            if time.monotonic() - self._logged_at >= _LOGGED_EVERY_S:
                self._logged_at = time.monotonic()
                log.error("%s: %s", self._work.failure, describe_error(error))
            return max(_AGAIN_AFTER_S, self._work.first_in_s)

    def wake(self) -> None:
        """Tick now."""
        self._woken.set()

    def stop(self) -> None:
        """End after the present tick, where that ends soon."""
        self._stopping = True
        self._woken.set()
        self.join(self._work.stops_within_s)


class BackgroundThreads:
    """A thread for each work that is needed, begun when it first is."""

    def __init__(self, works: Iterable[Background]):
        self._works = tuple(works)
        self._threads: dict[str, BackgroundThread] = {}
        self._stopped = False

    def tick(self) -> None:
        """Start what is needed and does not run."""
        for work in () if self._stopped else self._works:
            thread = self._threads.get(work.name)
            if (thread is None or not thread.is_alive()) and work.is_needed():
                self._threads[work.name] = BackgroundThread(work)
                self._threads[work.name].start()

    def wake(self) -> None:
        """Have what follows generations go on now: something was published."""
        for work in self._works:
            if work.follows_generations and (thread := self._threads.get(work.name)):
                thread.wake()

    def stop(self) -> None:
        """End all for good."""
        self._stopped = True
        for thread in self._threads.values():
            thread.stop()
