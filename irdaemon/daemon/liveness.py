"""Pulse: which threads are alive and get somewhere.

The service manager's watchdog is answered only while all of them do; a thread that died ends the
daemon, for the manager to start a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irdaemon.engine.health import lasting


@dataclass(frozen=True, slots=True)
class Beat:
    """A thread: whether it lives, and when, on the monotonic clock, it last got on."""

    name: str
    alive: bool
    at: float


def dead(beats: Iterable[Beat]) -> tuple[str, ...]:
    """Return the names of the threads that died."""
    return tuple(beat.name for beat in beats if not beat.alive)


def stuck(beats: Iterable[Beat], now: float, after_s: float) -> tuple[str, ...]:
    """Say which threads died, or gave no sign for longer than `after_s` seconds (0: never)."""
    return tuple(_said(beats, now, after_s))


def _said(beats: Iterable[Beat], now: float, after_s: float) -> Iterator[str]:
    for beat in beats:
        if not beat.alive:
            yield f"the {beat.name} died"
        elif after_s and now - beat.at > after_s:
            yield f"the {beat.name} has not got on for {lasting(now - beat.at)}"
