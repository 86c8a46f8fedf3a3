"""The thread that copies corpora into backends, from when one of them has a backend."""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import platform
import threading
import time
from typing import TYPE_CHECKING

from irclient.errors import Unavailable
from irdaemon.engine import Engine
from irdaemon.runtime.tracebacks import describe_error

if TYPE_CHECKING:
    from irdaemon.contrib.backends.replication import Replication

log = logging.getLogger(__name__)

_TICK_S = 1.0
_LOGGED_EVERY_S = 60.0
_STOPS_WITHIN_S = 1.5


class CopyThread(threading.Thread):
    """Tick every second, and sooner when woken, until stopped; then give up the leases."""

    def __init__(self, replication: Replication, tick_s: float = _TICK_S):
        super().__init__(name="copies", daemon=True)
        self._replication = replication
        self._tick_s = tick_s
        self._woken = threading.Event()
        self._stopping = False
        self._logged_at = float("-inf")

    def run(self) -> None:
        """Tick until stopped; a tick that fails is logged, and the next one tries again."""
        while not self._stopping:
            self._woken.clear()
            now = time.monotonic()
            try:
                self._replication.tick(now)
            except Exception as error:
                if now - self._logged_at >= _LOGGED_EVERY_S:
                    self._logged_at = now
                    log.error("a copy failed; it is tried again: %s", describe_error(error))
            self._woken.wait(self._tick_s)
        self._replication.close()

    def wake(self) -> None:
        """Tick now: something was published."""
        self._woken.set()

    def stop(self) -> None:
        """End after the present tick, where that ends soon."""
        self._stopping = True
        self._woken.set()
        self.join(_STOPS_WITHIN_S)


class Copying:
    """Start that thread once a corpus has a backend; without one nothing of it is imported."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._thread: CopyThread | None = None
        self._stopped = False

    def tick(self) -> None:
        """Start the thread where there is something to copy and it does not run."""
        if self._stopped or (self._thread is not None and self._thread.is_alive()):
            return
        if not any(corpus.backend for corpus in self._engine.corpora.values()):
            return
        with contextlib.suppress(Unavailable):  # the ledger cannot be read now
            self._thread = CopyThread(_replication(self._engine))
            self._thread.start()

    def wake(self) -> None:
        """Have what was published copied now."""
        if self._thread is not None:
            self._thread.wake()

    def stop(self) -> None:
        """End for good, and give up the leases."""
        self._stopped = True
        if self._thread is not None:
            self._thread.stop()


def _replication(engine: Engine) -> Replication:
    from irdaemon.contrib.backends.making import open_backend
    from irdaemon.contrib.backends.replication import Replication

    with engine.state.reading() as ledger:
        return Replication(engine.state, holder(ledger.read_identity()), open_backend)


def holder(identity: int) -> str:
    """Return who writes, as others are told: the user and the machine, and which ledger there."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        user = str(os.getuid())
    return f"{user}@{platform.node() or 'localhost'} (ledger {identity & 0xFFFFFF:06x})"
