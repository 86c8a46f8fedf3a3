"""Take the steps in which prompts are written, beside the writer."""

from __future__ import annotations

from irdaemon.config.sections import Config
from irdaemon.contrib.prompts.observer import find_observer
from irdaemon.contrib.prompts.writing import Writing
from irdaemon.engine import Engine
from irdaemon.engine.observer import Background


class WritingWork(Background):
    """Take the steps of runs; the process waits for no answer when it ends."""

    name, failure = "prompts", "no prompts were written"
    stops_within_s = 2.0

    def __init__(self, writing: Writing):
        self._writing = writing

    def is_needed(self) -> bool:
        """Return whether there is a run, or may be one by the configuration."""
        return self._writing.is_needed

    def tick(self) -> float:
        """Take a step."""
        return self._writing.step()


def make_background(engine: Engine, config: Config) -> WritingWork:
    """Return what takes the steps of runs."""
    return WritingWork(find_observer(engine.state).writing)
