"""What can be set about watching, and what it says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from irdaemon.source.tree import PRUNED

Mode = Literal["inotify", "observer", "polling", "missing"]

Report = Callable[[str, str, str], None]
"""Takes a dirty path, the top it lies beneath ("": none), and the root it is watched for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Tune the watcher; every duration is in seconds.

    `ignored` are absolute paths never watched nor hinted (the daemon's own state). `pruned` are
    directory names not descended into. `cookies` is a directory of the daemon's own, in which a
    file shows that all earlier events have been read ("": nothing can be shown). `polling` polls
    every root. `max_watches` overrides the share of the user's inotify watches that may be taken.
    `settle`, `max_wait`, `eager` and `limit` are the Debouncer's.
    """

    ignored: tuple[str, ...] = ()
    cookies: str = ""
    pruned: frozenset[str] = PRUNED
    polling: bool = False
    poll_interval: float = 5.0
    retry_interval: float = 300.0
    settle: float = 0.02
    max_wait: float = 2.0
    eager: int = 4
    limit: int = 512
    max_watches: int | None = None


@dataclass(frozen=True, slots=True)
class RootWatch:
    """How one root is watched.

    `path` is real. `directories` counts those watched for this root; one within nested roots
    counts for the innermost. `last_event` is in Unix seconds, None before the first.
    """

    path: str
    mode: Mode
    reason: str = ""
    directories: int = 0
    last_event: float | None = None
