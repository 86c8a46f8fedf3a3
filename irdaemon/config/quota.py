"""Quota: how much more a corpus may take in."""

from __future__ import annotations

from dataclasses import dataclass

from irdaemon.runtime.memory import MB, measure_resident


@dataclass(frozen=True, slots=True)
class Quota:
    """The most artifacts of a corpus, and the most bytes of the process; 0 for no limit."""

    artifacts: int = 0
    memory: int = 0

    def exceeded(self, held: int) -> str:
        """Return why a corpus with a number of artifacts accepts no more; "" where it does."""
        if self.artifacts and held >= self.artifacts:
            return f"it holds {held:,} artifacts, its limit is {self.artifacts:,} (artifacts)"
        if self.memory and (used := measure_resident()) > self.memory:
            return (
                f"the daemon uses {used // MB:,} MB of memory,"
                f" its limit is {self.memory // MB:,} (memory_mb)"
            )
        return ""
