"""Turn inotify events into hints, and keep a watch on every directory that comes and goes."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Iterator, Mapping

from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, WatchDescriptor

from irdaemon.runtime.tracebacks import describe_error
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.tree import Symlinks, find_inside, is_directory, is_link
from irdaemon.types import WatchMode
from irdaemon.watch.limits import (
    LimitReached,
    Report,
    Settings,
    Unwatchable,
    explain_too_many,
    read_watch_budget,
)
from irdaemon.watch.watches import Watch, Watches

# Cookies: proof that every event up to a moment has been read.
#
# The kernel queues the events of all watches of one inotify descriptor in the order they happen. So
# once the creation of a file in the daemon's own directory is read, every earlier change has been
# read too. (watchman puts such files into the watched trees; one queue needs none there.)


class Cookies:
    """Put files into a watched directory and wait for their events."""

    def __init__(self, directory: str):
        self.directory = resolve_path(directory) if directory else ""
        self._numbers = itertools.count()
        self._awaited: dict[str, threading.Event] = {}

    def make_directory(self) -> bool:
        """Make the directory; return whether it exists."""
        if not self.directory:
            return False
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
        except OSError:
            return False
        return True

    def note_seen(self, name: str) -> None:
        """Record that the event of a cookie has been read."""
        if (event := self._awaited.get(name)) is not None:
            event.set()

    def wait(self, timeout: float) -> bool:
        """Create a cookie, and return whether its event is read within `timeout` seconds.

        Raises OSError if no cookie can be created.
        """
        name = f"{os.getpid()}-{next(self._numbers)}"
        path = os.path.join(self.directory, name)
        event = self._awaited[name] = threading.Event()
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            return event.wait(timeout)
        finally:
            del self._awaited[name]
            with contextlib.suppress(OSError):
                os.unlink(path)


# Watch directory trees recursively: pruned directories are left out, links followed as walks do.
#
# A directory is watched before it is listed, and hinted after: whatever appears meanwhile raises an
# event, is listed, or is seen by the scan that follows the hint.

# SQLite writes there first, next to a database; even a reader opens it for writing.
LOG_ENDING = "-wal"


class RecursiveWatches:
    """Walk trees and watch their directories; `links` maps the symlinks found to their targets."""

    def __init__(self, watches: Watches, settings: Settings):
        self.links: dict[str, str] = {}
        self._links_before: dict[str, str] = {}
        self._watches = watches
        self._pruned = settings.pruned
        self._ignored = settings.ignored
        self._symlinks: Mapping[str, Symlinks] = {}
        self._not_entered: frozenset[str] = frozenset()

    def begin(self, symlinks: Mapping[str, Symlinks], unwatched: frozenset[str]) -> None:
        """Start over, with the links followed below each root and the directories to exclude."""
        self._links_before, self.links = self.list_links(), {}
        self._symlinks = symlinks
        self._not_entered = unwatched

    def finish(self) -> None:
        """Drop the links of the previous round that are gone."""
        self._links_before = {}

    def list_links(self) -> dict[str, str]:
        """Return the links followed now or until this round ends, with their targets."""
        return {**self._links_before, **self.links}

    def drop_link(self, path: str) -> str:
        """Drop a link that may be gone; return its target, "" if it was not a link."""
        target = self.links.pop(path, "")
        if target:
            self._links_before[path] = target
        return target

    def give_up(self, root: str) -> None:
        """Drop the watches of a root, and do not enter it again."""
        self._not_entered |= {root}
        self._watches.drop_root(root)

    def is_excluded(self, path: str) -> bool:
        """Return whether a path is neither watched nor hinted."""
        return path in self._not_entered or any(is_within(path, top) for top in self._ignored)

    def add_tree(self, path: str, root: str, top: str) -> None:
        """Watch a directory, or a symlink's target, and everything below. Raises LimitReached.

        Unreadable directories are skipped: the scan reports them.
        """
        pending = [(path, top)]
        while pending:
            directory, its_top = pending.pop()
            if os.path.islink(directory):
                directory = its_top = self._follow(directory, root)
            if not directory or self.is_excluded(directory) or not os.path.isdir(directory):
                continue
            if self._watches.add(directory, root, its_top):
                pending.extend((below, its_top) for below in self._list_subdirs(directory))

    def add_root(self, root: str) -> None:
        """Watch a root and its entry in its parent, so that it stays watched if made again."""
        self._watches.add_name(root, root)
        if os.path.isfile(root):
            self._watches.add_name(root + LOG_ENDING, root)
        self.add_tree(root, root, root)

    def count(self, root: str) -> int:
        """Return how many directories below a root need a watch, without following symlinks."""
        counted, pending = 0, [root]
        while pending:
            counted += 1
            pending.extend(p for p in self._list_subdirs(pending.pop()) if not os.path.islink(p))
        return counted

    def _follow(self, link: str, root: str) -> str:
        """Return where a link leads, or "" if it is not followed."""
        if self.leads_out(link, root):
            return ""
        target = resolve_path(link)
        rule = self._symlinks.get(root, Symlinks())
        if rule.danger(target) or (os.path.isdir(target) and not rule.follows(link, target)):
            return ""
        self.links[link] = target
        if not self.is_excluded(target):
            self._watches.add_name(target, root)
        return target

    def leads_out(self, link: str, root: str) -> bool:
        """Return whether a link leads out of the project of a root, in which case it is ignored."""
        limit = self._symlinks.get(root, Symlinks()).limit
        return bool(limit) and not find_inside(link, limit)

    def _list_subdirs(self, directory: str) -> Iterator[str]:
        """Yield every symlink, and the sub-directories that are not pruned."""
        try:
            with os.scandir(directory) as entries:
                found = list(entries)
        except OSError:
            return
        for entry in found:
            if entry.name in self._pruned and (is_link(entry) or is_directory(entry)):
                continue
            if is_link(entry) or is_directory(entry):
                yield entry.path


log = logging.getLogger(__name__)

ARRIVED = InotifyConstants.IN_CREATE | InotifyConstants.IN_MOVED_TO
LEFT = InotifyConstants.IN_DELETE | InotifyConstants.IN_MOVED_FROM
SELF_GONE = (
    InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT
)


class InotifyBackend:
    """Watch directory trees by one inotify watch per directory.

    `stale` means that the watches may no longer match the tree: `sync` again and rescan.
    """

    mode: WatchMode = "inotify"

    def __init__(self, report: Report, settings: Settings):
        self.stale = False
        self._report = report
        self._settings = settings
        self._budget = settings.max_watches
        self._roots: tuple[str, ...] = ()
        self._cookies = Cookies(settings.cookies)

    def start(self) -> None:
        """Open inotify. Raises OSError if the system allows no more."""
        if self._settings.max_watches is None:
            self._budget = read_watch_budget()
        self._watches = Watches(self, self._budget)
        self._trees = RecursiveWatches(self._watches, self._settings)

    def stop(self) -> None:
        """Drop every watch and stop reading events."""
        self._watches.close()

    def alive(self) -> bool:
        """Return whether events are being read."""
        return self._watches.alive()

    def count_directories(self, root: str) -> int:
        """Return how many directories are watched for `root`."""
        return self._watches.count(root)

    def forget(self, root: str) -> None:
        """Drop the watches on a path that now leads to something else."""
        self._watches.drop_tree(root)

    def sync(
        self, roots: Mapping[str, Symlinks], excluded: frozenset[str]
    ) -> dict[str, Unwatchable]:
        """Watch exactly these real paths, without those `excluded`; return those that cannot be."""
        self.stale = False
        self._roots = tuple(roots)
        self._watches.begin_generation()
        self._trees.begin(roots, excluded)
        unwatched: dict[str, Unwatchable] = {}
        # Innermost first: a directory within nested roots belongs to the nearest.
        for root in sorted(roots, reverse=True):
            cause = self._add_root(root)
            if cause is not None:
                unwatched[root] = cause
                self._trees.give_up(root)
        if self._cookies.make_directory():
            with contextlib.suppress(LimitReached):
                self._watches.add(self._cookies.directory, "", "")
        self._watches.sweep()
        self._trees.finish()
        return unwatched

    def list_links(self) -> Mapping[str, str]:
        """Return the followed links, with their real targets."""
        return self._trees.list_links()

    def receives_events(self, timeout: float) -> bool:
        """Return whether an event made now is read within `timeout` seconds, if testable."""
        try:
            return not self._has_cookies() or self._cookies.wait(timeout)
        except OSError:
            return True

    def caught_up(self, timeout: float) -> bool:
        """Return whether, within `timeout` seconds, every event up to now has been reported."""
        try:
            return self._has_cookies() and self._cookies.wait(timeout) and not self.stale
        except OSError:
            return False

    def _has_cookies(self) -> bool:
        directory = self._cookies.directory
        return bool(directory) and not self.stale and self._watches.holds(directory)

    def on_event(self, event: InotifyEvent) -> None:
        """Turn one kernel event into a hint; called by the reading thread.

        An exception causes a complete rescan and never ends the thread.
        """
        try:
            self._on_event(event)
        except Exception as fault:
            if not self.stale:
                log.error(
                    "an event could not be processed; rescanning every root: %s",
                    describe_error(fault),
                )
            self.stale = True

    def _on_event(self, event: InotifyEvent) -> None:
        watch = self._watches.find(event.wd)
        if watch is None:
            return
        if watch.path == self._cookies.directory:
            self._handle_cookie(event)
        elif event.mask & SELF_GONE:
            self._handle_gone(event, watch)
        elif event.name:
            self._handle_change(event, watch, os.fsdecode(event.name))

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """Forget a watch that ended with its directory."""
        self._watches.forget_descriptor(wd)

    def on_queue_overflow(self) -> None:
        """Request a rescan of every root: which events were lost is unknown."""
        log.warning("the kernel's queue of events overflowed; rescanning every root")
        self.stale = True
        for root in self._roots:
            self._report(root, root, root)

    def _handle_cookie(self, event: InotifyEvent) -> None:
        if event.mask & SELF_GONE:
            self._watches.drop_one(self._cookies.directory)
            self.stale = True  # the next sync makes it again
        else:
            self._cookies.note_seen(os.fsdecode(event.name or b""))

    def _add_root(self, root: str) -> Unwatchable | None:
        try:
            self._trees.add_root(root)
        except LimitReached:
            return explain_too_many(self._trees.count(root), self._budget)
        if os.path.isdir(root) and not self._watches.holds(root):
            return Unwatchable("the directory cannot be read")
        return None

    def _add_tree(self, path: str, root: str, top: str) -> None:
        try:
            self._trees.add_tree(path, root, top)
        except LimitReached:
            self.stale = True  # the next sync polls the whole root, and reports the reason

    def _handle_change(self, event: InotifyEvent, watch: Watch, name: str) -> None:
        path = os.path.join(watch.path, name)
        root, top = watch.root, watch.top
        if watch.names is not None:
            root, top = watch.names.get(name, ""), path
        elif event.is_directory and name in self._settings.pruned:
            return
        if not root or self._trees.is_excluded(path):
            return
        if event.is_close_write and name.endswith(LOG_ENDING):
            return  # any write has had its own event
        if event.mask & LEFT:
            self._handle_departure(event, path, root)
        elif event.mask & ARRIVED:
            self._handle_arrival(event, path, root, top)
        elif event.is_directory and not self._watches.holds(path):
            self._add_tree(path, root, top)  # it may have become readable
        self._report(path, top, root)

    def _handle_departure(self, event: InotifyEvent, path: str, root: str) -> None:
        if not event.is_directory:
            self._drop_link(path, root)
        elif event.is_moved_from:  # before its arrival elsewhere adds it again
            self._watches.drop_tree(path)
            for link in [link for link in list(self._trees.links) if is_within(link, path)]:
                self._drop_link(link, root)
        else:
            # It was empty. Searching for descendants at every deletion would make `rm -r` of a
            # large tree quadratic.
            self._watches.drop_one(path)

    def _handle_arrival(self, event: InotifyEvent, path: str, root: str, top: str) -> None:
        self._drop_link(path, root)
        if event.is_directory:
            self._add_tree(path, root, top)
        elif os.path.islink(path):
            self._add_tree(path, root, top)
            if not self._trees.leads_out(path, root):
                self._report_target(resolve_path(path), root)

    def _drop_link(self, path: str, root: str) -> None:
        if target := self._trees.drop_link(path):
            self._report_target(target, root)

    def _report_target(self, target: str, root: str) -> None:
        # Editors' lock files are dangling symlinks: they come and go with every edit.
        if os.path.exists(target):
            self._report(target, "", root)
            self.stale = True

    def _handle_gone(self, event: InotifyEvent, watch: Watch) -> None:
        if event.is_delete_self:
            self._watches.drop_one(watch.path)
        else:
            self._watches.drop_tree(watch.path)
        if watch.names is not None:
            self.stale = True
            return
        if os.path.isdir(watch.path):  # already recreated, or a move seen late
            self._add_tree(watch.path, watch.root, watch.top)
        self._report(watch.path, watch.top, watch.root)
