"""Threads of the process that do something again and again."""

from __future__ import annotations

import logging
import threading
import time

from irdaemon.runtime.tracebacks import describe_error

_LOGGED_EVERY_S = 60.0


class TickThread(threading.Thread):
    """Tick until stopped, `tick_s` seconds after the last time or when woken.

    A tick that fails is logged as `failure`, once a minute at most, and the next one tries again.
    """

    failure = "a tick failed; the next one tries again"

    def __init__(self, name: str, tick_s: float):
        super().__init__(name=name, daemon=True)
        self.ticked = time.monotonic()
        self._tick_s = tick_s
        self._stopping = False
        self._woken = threading.Event()
        self._logged_at = float("-inf")

    def tick(self, now: float) -> None:
        """Do what is due; `now` is in seconds of the monotonic clock."""
        raise NotImplementedError

    def wait_s(self) -> float:
        """Return for how many seconds to wait now, unless woken."""
        return self._tick_s

    def close(self) -> None:
        """End what the thread has begun; it is called last, by the thread."""

    def run(self) -> None:
        """Tick until stopped; `ticked` is when the last tick succeeded."""
        while not self._stopping:
            self._woken.clear()
            now = time.monotonic()
            try:
                self.tick(now)
                self.ticked = now
            except Exception as error:
                self.log_failure(error, now)
            if not self._stopping:  # stopped between, it may have been cleared
                self._woken.wait(self.wait_s())
        self.close()

    def log_failure(self, error: Exception, now: float) -> None:
        """Log why a tick failed, unless that was done within a minute."""
        if now - self._logged_at >= _LOGGED_EVERY_S:
            self._logged_at = now
            log = logging.getLogger(type(self).__module__)
            log.error("%s: %s", self.failure, describe_error(error))

    def wake(self) -> None:
        """Tick now."""
        self._woken.set()

    def stop(self) -> None:
        """End after the present tick, without waiting for it."""
        self._stopping = True
        self._woken.set()
