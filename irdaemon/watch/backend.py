"""The seam between the watcher and a system's way to tell of changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Protocol

from irdaemon.source.symlinks import Symlinks
from irdaemon.types import WatchMode
from irdaemon.watch.limits import Refusal
from irdaemon.watch.settings import Report, Settings


class Backend(Protocol):
    """Watch trees and report what changes in them.

    `stale` says that events were lost or the watches are no longer the right ones: call `sync`,
    then rescan. A backend that is not `alive` is replaced by a new one.
    """

    mode: WatchMode
    stale: bool

    def start(self) -> None:
        """Begin reading events. Raises OSError when the system has no more to give."""
        ...

    def stop(self) -> None:
        """Drop every watch and end the backend's threads."""
        ...

    def alive(self) -> bool:
        """Say whether events are being read."""
        ...

    def sync(self, roots: Mapping[str, Symlinks], apart: frozenset[str]) -> dict[str, Refusal]:
        """Watch exactly these real paths, and what the links below each lead to.

        Those `apart` are not entered. Returns the paths that are refused.
        """
        ...

    def forget(self, root: str) -> None:
        """Drop the watches on a path that now holds something else."""
        ...

    def directories(self, root: str) -> int:
        """Return how many directories are watched for `root`."""
        ...

    def links(self) -> Mapping[str, str] | None:
        """Return the links that are followed, with their real targets; None where not known."""
        ...

    def hears(self, timeout: float) -> bool:
        """Say whether an event made now is read within `timeout` seconds, where that can be tried.

        Otherwise, True.
        """
        ...

    def caught_up(self, timeout: float) -> bool:
        """Say whether, within `timeout` seconds, every event up to now was seen to be reported."""
        ...


def native(report: Report, settings: Settings) -> Backend:
    """Return the backend of this system."""
    # Imported here because watchdog's inotify module cannot be imported where there is none.
    if sys.platform == "linux":
        from irdaemon.watch.inotify import Trees

        return Trees(report, settings)
    from irdaemon.watch.portable import Observed

    return Observed(report, settings)
