"""The interface between the watcher and a system's file notifications."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from irdaemon.source.opening import at_or_under
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import Walk
from irdaemon.types import WatchMode
from irdaemon.watch.limits import Report, Settings, Unwatchable

# Watching where there is no inotify: watchdog's own observer, one recursive watch per tree.
#
# The system's recursive watches (FSEvents) cost nothing per directory, so pruned directories are
# only left out of the hints. Symlinked directories are watched at their real path; a change of a
# symlinked file's target outside the trees waits for the next scheduled scan.

COUNTED = frozenset({"created", "modified", "deleted", "moved", "closed"})


class ObserverBackend(FileSystemEventHandler):
    """Watch directory trees through a watchdog observer."""

    mode: WatchMode = "observer"

    def __init__(self, report: Report, settings: Settings):
        self.stale = False
        self._report = report
        self._settings = settings
        self._scheduled: dict[str, ObservedWatch] = {}
        self._root_of: dict[str, str] = {}

    def start(self) -> None:
        """Start the observer. Raises OSError if the system allows none."""
        self._scheduled = {}
        self._observer: BaseObserver = Observer()
        self._observer.start()

    def stop(self) -> None:
        """Stop the observer and its threads."""
        self._observer.stop()
        if self._observer.is_alive():
            self._observer.join()

    def alive(self) -> bool:
        """Return whether the observer and every emitter run."""
        emitters = list(self._observer.emitters)
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in emitters)

    def directories(self, root: str) -> int:
        """Return 0: the system watches whole trees."""
        return 0

    def links(self) -> None:
        """Return None: which links led to a tree is not kept."""

    def receives_events(self, timeout: float) -> bool:
        """Return True: this backend cannot be probed."""
        return True

    def caught_up(self, timeout: float) -> bool:
        """Return False: this backend cannot show how far its events have been read."""
        return False

    def forget(self, root: str) -> None:
        """Drop the watch on a path that now holds something else."""
        for top in [top for top in self._scheduled if at_or_under(top, root)]:
            self._observer.unschedule(self._scheduled.pop(top))

    def sync(
        self, roots: Mapping[str, Symlinks], excluded: frozenset[str]
    ) -> dict[str, Unwatchable]:
        """Watch exactly these real paths and what they link to; return those that cannot be."""
        self.stale = False
        tops = dict(self._tops(roots))
        for gone in self._scheduled.keys() - tops.keys():
            self._observer.unschedule(self._scheduled.pop(gone))
        self._root_of = tops
        unwatched: dict[str, Unwatchable] = {}
        for top in sorted(tops.keys() - self._scheduled.keys()):
            try:
                self._scheduled[top] = self._observer.schedule(self, top, recursive=True)
            except OSError as error:
                unwatched[tops[top]] = Unwatchable(error.strerror or str(error))
        return unwatched

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Turn one event into hints for its source and its destination."""
        # A directory is "modified" whenever a child is, and the child has its own event.
        if event.event_type not in COUNTED or (
            event.is_directory and event.event_type == "modified"
        ):
            return
        for path in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            top = self._top_of(path)
            if path and top and not self._left_out(path, top, event):
                self._report(path, top, self._root_of[top])

    def _tops(self, roots: Mapping[str, Symlinks]) -> Iterator[tuple[str, str]]:
        """Yield (tree to watch, its root): outermost roots, and link targets outside them."""
        tops: list[str] = []
        seen: set[str] = set()
        for root in sorted(roots):
            walk = Walk(roots[root], seen=seen)
            for directory, _ in walk.directories(root, self._descend):
                if not any(at_or_under(directory, top) for top in tops):
                    tops.append(directory)
                    yield directory, root

    def _descend(self, entry: os.DirEntry[str]) -> bool:
        return entry.name not in self._settings.pruned and not self._ignored(entry.path)

    def _ignored(self, path: str) -> bool:
        return any(at_or_under(path, top) for top in self._settings.ignored)

    def _left_out(self, path: str, top: str, event: FileSystemEvent) -> bool:
        directory = path if event.is_directory else os.path.dirname(path)
        names = directory[len(top) :].split(os.sep)
        return self._ignored(path) or not self._settings.pruned.isdisjoint(names)

    def _top_of(self, path: str) -> str:
        tops = [top for top in self._root_of if at_or_under(path, top)]
        return max(tops, key=len, default="")


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
        """Watch exactly these real paths, and what the links below each lead to.

        Those `excluded` are not entered. Returns the paths that cannot be watched, with the cause.
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

    def receives_events(self, timeout: float) -> bool:
        """Return whether an event made now is read within `timeout` seconds.

        True where this cannot be probed.
        """
        ...

    def caught_up(self, timeout: float) -> bool:
        """Return whether, within `timeout` seconds, every event up to now has been reported."""
        ...


def native(report: Report, settings: Settings) -> Backend:
    """Return the backend of this system."""
    # Imported here because watchdog's inotify module cannot be imported where there is none.
    if sys.platform == "linux":
        from irdaemon.watch.inotify import InotifyBackend

        return InotifyBackend(report, settings)

    return ObserverBackend(report, settings)
