"""Threads of the process: the writer, and periodic work.

Every wake-up keeps a processor from its deeper sleep. Urgent things wake a thread themselves: a
request, an event of the kernel, a job, a signal. Everything else is checked every second, and every
five seconds after a minute without requests or work.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable

from irdaemon.engine import Engine
from irdaemon.engine.observer import Background
from irdaemon.runtime.tracebacks import describe_error

log = logging.getLogger(__name__)

BUSY_S, QUIET_S = 1.0, 5.0
_QUIET_AFTER_S = 60.0
_LOGGED_EVERY_S = 60.0
# The shortest wait before a retry after a failure.
_AGAIN_AFTER_S = 1.0
_WRITER_STOPS_WITHIN_S = 1.5


class Pace:
    """Decide how long a thread may sleep; any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._noted_at = clock()

    def note(self) -> None:
        """Record activity."""
        self._noted_at = self._clock()

    def sleep_s(self, requested_at: float = float("-inf")) -> float:
        """Return the longest sleep in seconds; the last request came at `requested_at`."""
        latest = max(self._noted_at, requested_at)
        return QUIET_S if self._clock() - latest >= _QUIET_AFTER_S else BUSY_S


class TickThread(threading.Thread):
    """Tick until stopped, `tick_s` seconds after the last time or when woken.

    A failed tick is logged as `failure`, at most once a minute, and the next one tries again.
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
        """Return how many seconds to wait now, unless woken."""
        return self._tick_s

    def close(self) -> None:
        """End the thread's unfinished work; the thread calls it last."""

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
            if not self._stopping:  # if stopped in between, it may have been cleared
                self._woken.wait(self.wait_s())
        self.close()

    def log_failure(self, error: Exception, now: float) -> None:
        """Log why a tick failed, at most once a minute."""
        if now - self._logged_at >= _LOGGED_EVERY_S:
            self._logged_at = now
            log = logging.getLogger(type(self).__module__)
            log.error("%s: %s", self.failure, describe_error(error))

    def wake(self) -> None:
        """Tick now."""
        self._woken.set()

    def stop(self) -> None:
        """End after the current tick, without waiting for it."""
        self._stopping = True
        self._woken.set()


class BackgroundThread(TickThread):
    """Tick as the work requires until stopped, then close it."""

    def __init__(self, work: Background):
        super().__init__(work.name, work.first_in_s)
        self.failure = work.failure
        self._work = work

    def run(self) -> None:
        """Tick, after an initial delay if the work wants one."""
        self._woken.wait(self._work.first_in_s)
        super().run()

    def tick(self, now: float) -> None:
        """Do a piece of work, and wait as long as it says; after a failure, as long as at first."""
        self._tick_s = max(_AGAIN_AFTER_S, self._work.first_in_s)
        self._tick_s = self._work.tick()

    def close(self) -> None:
        """End the work."""
        self._work.close()

    def stop(self) -> None:
        """End after the current tick, if that ends soon."""
        super().stop()
        self.join(self._work.stops_within_s)


class BackgroundThreads:
    """A thread for each piece of needed work, started when first needed."""

    def __init__(self, works: Iterable[Background]):
        self._works = tuple(works)
        self._threads: dict[str, BackgroundThread] = {}
        self._stopped = False

    def tick(self) -> None:
        """Start the needed work that does not run."""
        for work in () if self._stopped else self._works:
            thread = self._threads.get(work.name)
            if (thread is None or not thread.is_alive()) and work.is_needed():
                self._threads[work.name] = BackgroundThread(work)
                self._threads[work.name].start()

    def wake(self) -> None:
        """Wake work that follows generations: a new one was published."""
        for work in self._works:
            if work.follows_generations and (thread := self._threads.get(work.name)):
                thread.wake()

    def stop(self) -> None:
        """End all for good."""
        self._stopped = True
        for thread in tuple(self._threads.values()):
            thread.stop()


class WriterThread(threading.Thread):
    """Run the engine's jobs, one after another, until stopped.

    `sleep_s` says how long to wait for a job before checking what else is due.
    """

    def __init__(self, engine: Engine, nice: int, sleep_s: Callable[[], float] = lambda: BUSY_S):
        super().__init__(name="writer", daemon=True)
        self._engine = engine
        self._nice = nice
        self._sleep_s = sleep_s
        self._stopping = threading.Event()

    def run(self) -> None:
        """Run jobs as they come; an error that the engine does not handle ends the daemon."""
        with contextlib.suppress(OSError, AttributeError):
            # Linux also derives the priority of a thread's disk accesses from this.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        try:
            while not self._stopping.is_set():
                self._engine.step(timeout=self._sleep_s())
        except BaseException as error:
            log.error("the writer failed: %s", describe_error(error))

    def stop(self) -> bool:
        """End after the current transaction; return whether it ended in time."""
        self._stopping.set()
        self._engine.stop()
        self.join(_WRITER_STOPS_WITHIN_S)
        return not self.is_alive()
