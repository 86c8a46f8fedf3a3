"""Liveness: which threads are alive and make progress.

The service manager's watchdog is answered only while all of them do; a thread that died ends the
daemon, for the manager to start a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irdaemon.engine.health import lasting


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A thread: whether it lives, and when, on the monotonic clock, it last made progress."""

    name: str
    alive: bool
    at: float


def dead(heartbeats: Iterable[Heartbeat]) -> tuple[str, ...]:
    """Return the names of the threads that died."""
    return tuple(each.name for each in heartbeats if not each.alive)


def stuck(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> tuple[str, ...]:
    """Return which threads died, or made no progress for longer than `after_s` s (0: never)."""
    return tuple(_stuck(heartbeats, now, after_s))


def _stuck(heartbeats: Iterable[Heartbeat], now: float, after_s: float) -> Iterator[str]:
    for each in heartbeats:
        if not each.alive:
            yield f"the {each.name} died"
        elif after_s and now - each.at > after_s:
            yield f"the {each.name} has made no progress for {lasting(now - each.at)}"
