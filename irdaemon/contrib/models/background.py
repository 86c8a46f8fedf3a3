"""Ask a model for synopses while the daemon has nothing else to do."""

from __future__ import annotations

from irdaemon.config.sections import Config
from irdaemon.contrib.models.observer import find_models
from irdaemon.contrib.models.synopses import SynopsisBudget, SynopsisWriter
from irdaemon.engine import Engine
from irdaemon.engine.observer import Background

# Between two looks at whether it is quiet, and after one that was worth it.
_TICK_S, _GOES_ON_S = 15.0, 1.0
# No request waits for a synopsis, and it is made of a long text.
_PATIENCE = 6


class SynopsisWork(Background):
    """Ask for synopses, a few at a time; the process waits for no reply when it ends."""

    name, failure = "synopses", "no synopses were written"

    def __init__(self, writer: SynopsisWriter):
        self._writer = writer
        self._tick_s = self.first_in_s = min(_TICK_S, max(0.2, writer.budget.quiet_s / 2))

    def tick(self) -> float:
        """Ask for a few where it is quiet."""
        return min(_GOES_ON_S, self._tick_s) if self._writer.tick() else self._tick_s


def make_background(engine: Engine, config: Config) -> SynopsisWork | None:
    """Return what asks for synopses; None where no model is configured."""
    models = config.models
    if find_models(engine.state).summarizer is None or not models.synopses_a_day:
        return None
    timeout_s = _PATIENCE * models.timeout_s
    budget = SynopsisBudget(models.synopses_a_day, 60 * models.quiet_minutes, timeout_s)
    return SynopsisWork(SynopsisWriter(engine.state, budget))
