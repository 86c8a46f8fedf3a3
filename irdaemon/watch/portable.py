"""Watching without inotify: watchdog's own observer, one recursive watch per tree.

The system's recursive watches (FSEvents) cost nothing per directory, so pruned directories are only
left out of the hints. Symlinked directories are watched at their real path; a change of a symlinked
file's target outside the trees waits for the next scheduled scan. So do events that the system
drops under load, since watchdog does not report that. macOS names paths in events by their case and
form on disk; they are translated back to the roots' spelling.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from irdaemon.source.opening import is_within
from irdaemon.source.tree import Symlinks, Walk
from irdaemon.types import WatchMode
from irdaemon.watch.limits import Report, Settings, Unwatchable

COUNTED = frozenset({"created", "modified", "attrib", "deleted", "moved", "closed"})
_LONGEST_PATH = 1_024


def find_spelling(path: str) -> str:
    """Return a directory's path as macOS spells it in events; elsewhere the path itself."""
    command = getattr(fcntl, "F_GETPATH", None)
    if command is None:
        return path
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return path
    try:
        found = fcntl.fcntl(descriptor, command, bytes(_LONGEST_PATH))
        return os.fsdecode(found.rstrip(b"\0")) or path
    except OSError:
        return path
    finally:
        os.close(descriptor)


class ObserverBackend(FileSystemEventHandler):
    """Watch directory trees through a watchdog observer."""

    mode: WatchMode = "observer"

    def __init__(self, report: Report, settings: Settings):
        self.stale = False
        self._report = report
        self._settings = settings
        self._scheduled: dict[str, ObservedWatch] = {}
        self._root_of: dict[str, str] = {}
        # Watched trees by their paths in events, if those differ.
        self._spelled: dict[str, str] = {}

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

    def count_directories(self, root: str) -> int:
        """Return 0: the system watches whole trees."""
        return 0

    def list_links(self) -> None:
        """Return None: this backend does not know which links led to a tree."""

    def receives_events(self, timeout: float) -> bool:
        """Return True: this backend cannot be tested."""
        return True

    def caught_up(self, timeout: float) -> bool:
        """Return False: this backend cannot show how far its events have been read."""
        return False

    def forget(self, root: str) -> None:
        """Drop the watch on a path that now leads to something else."""
        for top in [top for top in self._scheduled if is_within(top, root)]:
            self._observer.unschedule(self._scheduled.pop(top))

    def sync(
        self, roots: Mapping[str, Symlinks], excluded: frozenset[str]
    ) -> dict[str, Unwatchable]:
        """Watch exactly these real paths and what they link to; return those that cannot be."""
        self.stale = False
        tops = dict(self._list_tops(roots))
        for gone in self._scheduled.keys() - tops.keys():
            self._observer.unschedule(self._scheduled.pop(gone))
        self._root_of = tops
        spelled = {find_spelling(top): top for top in tops}
        self._spelled = {path: top for path, top in spelled.items() if path != top}
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
        for named in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            path = self._respell(named)
            tops = [top for top in self._root_of if is_within(path, top)]
            top = max(tops, key=len, default="")
            if path and top and not self._is_left_out(path, top, event):
                self._report(path, top, self._root_of[top])

    def _respell(self, path: str) -> str:
        """Return an event's path in the spelling of the roots."""
        for spelling, top in self._spelled.items():
            if is_within(path, spelling):
                return top + path[len(spelling) :]
        return path

    def _list_tops(self, roots: Mapping[str, Symlinks]) -> Iterator[tuple[str, str]]:
        """Yield (tree to watch, its root): outermost roots, and link targets outside them."""
        tops: list[str] = []
        seen: set[str] = set()
        for root in sorted(roots):
            walk = Walk(roots[root], seen=seen)
            for directory, _ in walk.walk_directories(root, self._enters):
                if not any(is_within(directory, top) for top in tops):
                    tops.append(directory)
                    yield directory, root

    def _enters(self, entry: os.DirEntry[str]) -> bool:
        return entry.name not in self._settings.pruned and not self._is_ignored(entry.path)

    def _is_ignored(self, path: str) -> bool:
        return any(is_within(path, top) for top in self._settings.ignored)

    def _is_left_out(self, path: str, top: str, event: FileSystemEvent) -> bool:
        directory = path if event.is_directory else os.path.dirname(path)
        names = directory[len(top) :].split(os.sep)
        return self._is_ignored(path) or not self._settings.pruned.isdisjoint(names)
