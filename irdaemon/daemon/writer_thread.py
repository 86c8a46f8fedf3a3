"""The thread that runs the engine's jobs."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable

from irdaemon.daemon.pace import BUSY_S
from irdaemon.engine import Engine
from irdaemon.runtime.tracebacks import describe_error

log = logging.getLogger(__name__)

_STOPS_WITHIN_S = 1.5


class WriterThread(threading.Thread):
    """Run the engine's jobs, one after another, until stopped.

    `sleep_s` says how long to wait for one before looking for what else is due.
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
            # Linux derives the priority of a thread's disk accesses from this as well.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        try:
            while not self._stopping.is_set():
                self._engine.step(timeout=self._sleep_s())
        except BaseException as error:
            log.error("the writer failed: %s", describe_error(error))

    def stop(self) -> bool:
        """End after the present transaction; return whether it did in time."""
        self._stopping.set()
        self._engine.stop()
        self.join(_STOPS_WITHIN_S)
        return not self.is_alive()
