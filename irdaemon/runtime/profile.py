"""A profile: the last durations of every stage of queries and jobs, in milliseconds.

    with stage("lexical"):
        ...

Measuring costs about a microsecond. One record for the process, as logging has: a reader
(`irc status --profile`, the slow-query log) sees all engines of the process.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType

_KEPT = 1_000


@dataclass(slots=True)
class Lap:
    """A stage of one piece of work: when it first began, its total duration, and how often it ran.

    In milliseconds since the work began.
    """

    at_ms: float
    ms: float = 0.0
    n: int = 0


class Laps:
    """The stages of one piece of work, by name. A stage within another is in both."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.stages: dict[str, Lap] = {}

    def list_stages(self) -> list[tuple[str, Lap]]:
        """Return the stages in the order in which they began."""
        return sorted(self.stages.items(), key=lambda item: item[1].at_ms)


_samples: dict[str, deque[float]] = {}
_totals: dict[str, int] = {}
_laps: ContextVar[Laps | None] = ContextVar("laps", default=None)


class stage:  # noqa: N801 (a context manager, used like a function)
    """Measure the block as a stage."""

    __slots__ = ("_name", "_started")

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        note(self._name, (time.perf_counter() - self._started) * 1e3)


def note(name: str, ms: float) -> None:
    """Keep one duration of a stage."""
    samples = _samples.get(name)
    if samples is None:
        samples = _samples.setdefault(name, deque(maxlen=_KEPT))
    samples.append(ms)
    # Two threads may occasionally count one duration for two; a lock would cost more than that is
    # worth.
    _totals[name] = _totals.get(name, 0) + 1
    if (laps := _laps.get()) is None:
        return
    if (lap := laps.stages.get(name)) is None:
        began = (time.perf_counter() - laps.started) * 1e3 - ms
        lap = laps.stages[name] = Lap(max(0.0, began))
    lap.ms += ms
    lap.n += 1


@contextmanager
def record_laps() -> Iterator[Laps]:
    """Yield the stages of the block, filled in as they end."""
    laps = Laps()
    token = _laps.set(laps)
    try:
        yield laps
    finally:
        _laps.reset(token)


def summarize_stages() -> dict[str, dict[str, float]]:
    """Return for every stage how many durations were noted, and how many of them are kept.

    With the p50, p95 and maximum of the kept ones.
    """
    return {
        name: {"total": _totals.get(name, 0), **_summarize(list(samples))}
        for name, samples in sorted(_samples.items())
    }


def _summarize(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {
        "n": len(ordered),
        "p50": round(ordered[len(ordered) // 2], 3),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 3),
        "max": round(ordered[-1], 3),
    }
