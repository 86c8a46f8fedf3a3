"""Liveness: which threads run and make progress.

The service manager's watchdog is answered only while all of them do; a thread that died ends the
daemon, so that the manager starts a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irdaemon.engine.health import lasting


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A thread: whether it runs, and when, on the monotonic clock, it last made progress."""

    name: str
    alive: bool
    at: float


def dead(heartbeats: Iterable[Heartbeat]) -> tuple[str, ...]:
    """Return the names of the threads that died."""
    return tuple(heartbeat.name for heartbeat in heartbeats if not heartbeat.alive)


def stuck(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> tuple[str, ...]:
    """Report the threads that died, or made no progress for `after_s` seconds (0: never)."""
    return tuple(_reports(heartbeats, now, after_s))


def _reports(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> Iterator[str]:
    for heartbeat in heartbeats:
        if not heartbeat.alive:
            yield f"the {heartbeat.name} died"
        elif after_s and now - heartbeat.at > after_s:
            yield f"the {heartbeat.name} has made no progress for {lasting(now - heartbeat.at)}"
