"""The thread that asks a model for synopses while the daemon has nothing else to do."""

from __future__ import annotations

import logging
import threading

from irdaemon.config.sections import ModelsConfig
from irdaemon.contrib.models.synopses import SynopsisBudget, SynopsisWriter
from irdaemon.engine import Engine
from irdaemon.runtime.tracebacks import describe_error

log = logging.getLogger(__name__)

# Between two looks at whether it is quiet, and after one that was worth it.
_TICK_S, _GOES_ON_S = 15.0, 1.0
# No request waits for a synopsis, and it is made of a long text.
_PATIENCE = 6


class SynopsisThread(threading.Thread):
    """Ask for synopses until stopped; the process waits for no reply when it ends."""

    def __init__(self, writer: SynopsisWriter, tick_s: float = _TICK_S):
        super().__init__(name="synopses", daemon=True)
        self._writer = writer
        self._tick_s = tick_s
        self._stopping = threading.Event()

    def run(self) -> None:
        """Tick until stopped; a tick that fails is logged, and the next one tries again."""
        wait_s = self._tick_s
        while not self._stopping.wait(wait_s):
            written = 0
            try:
                written = self._writer.tick()
            except Exception as error:
                log.error("no synopses were written: %s", describe_error(error))
            wait_s = min(_GOES_ON_S, self._tick_s) if written else self._tick_s

    def stop(self) -> None:
        """End after the present tick, without waiting for it."""
        self._stopping.set()


def synopsis_thread(engine: Engine, models: ModelsConfig) -> SynopsisThread | None:
    """Return the thread for a configuration; None where no model is configured."""
    if engine.state.synopsis_model is None or not models.synopses_a_day:
        return None
    timeout_s = _PATIENCE * models.timeout_s
    budget = SynopsisBudget(models.synopses_a_day, 60 * models.quiet_minutes, timeout_s)
    writer = SynopsisWriter(engine.state, budget)
    return SynopsisThread(writer, min(_TICK_S, max(0.2, budget.quiet_s / 2)))
