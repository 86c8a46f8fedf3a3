"""The interface between the watcher and a system's file notifications."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Protocol

from irdaemon.source.tree import Symlinks
from irdaemon.types import WatchMode
from irdaemon.watch.limits import Report, Settings, Unwatchable


class Backend(Protocol):
    """Watch trees and report what changes in them.

    `stale` means that events were lost or that the watches no longer match the tree: call `sync`,
    then rescan. A backend that is not `alive` is replaced by a new one.
    """

    mode: WatchMode
    stale: bool

    def start(self) -> None:
        """Begin reading events. Raises OSError if a limit of the system is reached."""
        ...

    def stop(self) -> None:
        """Drop every watch and end the backend's threads."""
        ...

    def alive(self) -> bool:
        """Return whether events are being read."""
        ...

    def sync(
        self, roots: Mapping[str, Symlinks], excluded: frozenset[str]
    ) -> dict[str, Unwatchable]:
        """Watch exactly these real paths, and the targets of the links below each.

        Those `excluded` are not entered. Returns the paths that cannot be watched, with the cause.
        """
        ...

    def forget(self, root: str) -> None:
        """Drop the watches on a path that now leads to something else."""
        ...

    def count_directories(self, root: str) -> int:
        """Return how many directories are watched for `root`."""
        ...

    def list_links(self) -> Mapping[str, str] | None:
        """Return the followed links, with their real targets; None if unknown."""
        ...

    def receives_events(self, timeout: float) -> bool:
        """Return whether an event made now is read within `timeout` seconds.

        Returns True if this cannot be tested.
        """
        ...

    def caught_up(self, timeout: float) -> bool:
        """Return whether, within `timeout` seconds, every event up to now has been reported."""
        ...


def make_native(report: Report, settings: Settings) -> Backend:
    """Return the backend of this system."""
    # Imported here because watchdog's inotify module cannot be imported on systems without inotify.
    if sys.platform == "linux":
        from irdaemon.watch.inotify import InotifyBackend

        return InotifyBackend(report, settings)
    from irdaemon.watch.portable import ObserverBackend

    return ObserverBackend(report, settings)
