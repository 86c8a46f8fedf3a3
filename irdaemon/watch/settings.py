"""The watcher's settings, and the callback for its hints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.source.tree import PRUNED

Report = Callable[[str, str, str], None]
"""Takes a dirty path, the top it lies beneath ("": none), and the root it is watched for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Tune the watcher; every duration is in seconds.

    `ignored` are absolute paths never watched nor hinted (the daemon's own state). `pruned` are
    directory names not descended into. `cookies` is a directory of the daemon's own, in which a
    file proves that all earlier events have been read ("": no proof). `polling` polls every root.
    Every `probe_interval` a probe checks that events are still read; a backend that fails
    `failed_probes` probes in a row is replaced. `max_watches` overrides the share of the user's
    inotify watches that may be taken.
    `settle`, `max_wait`, `eager` and `limit` are the Debouncer's.
    """

    ignored: tuple[str, ...] = ()
    cookies: str = ""
    pruned: frozenset[str] = PRUNED
    polling: bool = False
    poll_interval: float = 5.0
    retry_interval: float = 300.0
    probe_interval: float = 30.0
    failed_probes: int = 3
    settle: float = 0.02
    max_wait: float = 2.0
    eager: int = 4
    limit: int = 512
    max_watches: int | None = None
