"""The watcher: keep the right watches on the roots, and pass on hints of changes."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from irdaemon.source.opening import is_within
from irdaemon.source.tree import Symlinks, resolve_root
from irdaemon.types import LINK_POLICIES, LinkPolicy, Root, RootWatch
from irdaemon.watch.backend import Backend, make_native
from irdaemon.watch.debounce import Debouncer
from irdaemon.watch.limits import (
    MOUNTS,
    NETWORK,
    Mount,
    Report,
    Settings,
    Unwatchable,
    explain_no_inotify,
    find_network_kind,
    list_mounts,
)

# Detect mounts and unmounts below the roots, for which inotify has no event.


class MountTable:
    """Track the mounts below some roots, and report where they change."""

    def __init__(self, mounts_file: str = MOUNTS):
        self._path = mounts_file
        self._below: frozenset[Mount] = frozenset()
        self._poller: select.poll | None = None
        with contextlib.suppress(OSError, AttributeError):
            self._file = open(mounts_file, "rb")  # noqa: SIM115 (open as long as we watch)
            self._poller = select.poll()
            # The kernel marks the table as exceptional whenever it has changed.
            self._poller.register(self._file, select.POLLPRI)

    def close(self) -> None:
        """Stop watching the table."""
        if self._poller is not None:
            self._poller = None
            self._file.close()

    def may_have_changed(self) -> bool:
        """Return whether anything was mounted or unmounted anywhere since the last call."""
        return self._poller is not None and bool(self._poller.poll(0))

    def find_changed(self, roots: Iterable[str]) -> tuple[str, ...]:
        """Return the paths that are new, or now lead to something else."""
        before, tops = self._below, tuple(roots)
        self._below = frozenset(
            mount
            for mount in list_mounts(self._path)
            if any(mount.path != top and is_within(mount.path, top) for top in tops)
        )
        return tuple(sorted({mount.path for mount in before ^ self._below}))


# The real paths of the roots, and those that can only be polled.


@dataclass(frozen=True, slots=True)
class RootLocation:
    """The real path of a root, and its (device, inode); None if nothing is there.

    `links` is the policy for links to directories below it, `within` the root of its project.
    """

    path: str
    identity: tuple[int, int] | None
    links: LinkPolicy = "direct"
    within: str = ""


def locate_roots(roots: Iterable[Root]) -> tuple[RootLocation, ...]:
    """Return the locations of the given roots, each once, sorted.

    If link policies differ, the widest applies: every path that one corpus reads must be watched. A
    root that leads out of its project has no location.
    """
    policies: dict[str, LinkPolicy] = {}
    projects: dict[str, str] = {}
    for root in roots:
        if path := resolve_root(root):
            policies[path] = max(root.links, policies.get(path, "none"), key=LINK_POLICIES.index)
            projects[path] = root.within and projects.get(path, root.within)
    return tuple(
        RootLocation(path, _identify(path), policies[path], projects[path])
        for path in sorted(policies)
    )


def find_changed(
    before: tuple[RootLocation, ...], now: tuple[RootLocation, ...]
) -> tuple[str, ...]:
    """Return the paths that are new, or lead to something else than before."""
    known = set(before)
    return tuple(location.path for location in now if location not in known)


def find_unwatchable(
    locations: tuple[RootLocation, ...], settings: Settings
) -> dict[str, Unwatchable]:
    """Return the reason for each path to poll: roots, and network file systems within them."""
    there = [location.path for location in locations if location.identity is not None]
    if settings.polling:
        return dict.fromkeys(there, Unwatchable("polling is set in the configuration"))
    mounts = list_mounts()
    kinds = {path: find_network_kind(path, mounts) for path in there}
    inside = {
        mount.path: mount.kind
        for mount in mounts
        if mount.kind in NETWORK and any(is_within(mount.path, path) for path in there)
    }
    return {
        path: Unwatchable(f"{kind} is a network file system: its changes raise no events here")
        for path, kind in {**kinds, **inside}.items()
        if kind
    }


def _identify(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a path may contain characters that no file name can
        return None
    return status.st_dev, status.st_ino


# The thread that hands over due paths, so that a slow receiver never delays the event reader.


class Delivery:
    """Call `on_dirty` with the debouncer's paths when they become due."""

    def __init__(self, on_dirty: Callable[[tuple[str, ...]], None], debouncer: Debouncer):
        self._on_dirty = on_dirty
        self._debouncer = debouncer
        self._changed = threading.Condition()
        self._stopping = False
        self._taken = self._handed = 0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread unless it runs; paths that waited before are kept."""
        if self.alive():
            return
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="watch-delivery", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the hand-over in progress."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def alive(self) -> bool:
        """Return whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def add(self, path: str, top: str) -> None:
        """Add a path, to be handed over when it is due."""
        with self._changed:
            planned = self._debouncer.find_next_due()
            self._debouncer.add(path, time.monotonic(), top)
            due = self._debouncer.find_next_due()
            # Waking the thread for an event that only postpones it would cost a context switch
            # for each of the thousands of events in a checkout.
            if planned is None or (due is not None and due < planned):
                self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Hand over all waiting paths now; return whether this took at most `timeout` seconds."""
        with self._changed:
            self._debouncer.make_due(time.monotonic())
            until = self._taken + (self._debouncer.find_next_due() is not None)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._handed >= until, timeout)

    def _run(self) -> None:
        while paths := self._choose_next():
            try:
                self._on_dirty(paths)
            finally:
                with self._changed:
                    self._handed += 1
                    self._changed.notify_all()

    def _choose_next(self) -> tuple[str, ...]:
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                if paths := self._debouncer.take_due(now):
                    self._taken += 1
                    return paths
                due = self._debouncer.find_next_due()
                self._changed.wait(None if due is None else max(0.0, due - now))
        return ()


log = logging.getLogger(__name__)

# A root with more directories than this is polled proportionally less often: stamping a
# tree costs about a second per 100,000 directories, and must not become a steady load.
POLLED_AT_FULL_RATE = 5_000
_PROBE_TIMEOUT_S = 5.0


class Watcher:
    """Call `on_dirty` with real paths that may have changed, each at most once per change.

    `on_dirty` is called from the watcher's own thread, one call at a time. A path that is a root
    requests a rescan of that root; it is passed for every root that is new, made again or gone, and
    whenever events may have been lost. Call `tick` about once a second.
    """

    def __init__(
        self,
        on_dirty: Callable[[tuple[str, ...]], None],
        settings: Settings | None = None,
        backend: Callable[[Report, Settings], Backend] = make_native,
    ):
        self._settings = settings or Settings()
        self._on_dirty = on_dirty
        self._backend = backend
        self._running: Backend | None = None
        self._delivery = self._make_delivery()
        self._lock = threading.RLock()
        self._active = False
        self._given: tuple[Root, ...] = ()
        self._locations: tuple[RootLocation, ...] = ()
        self._polled: dict[str, Unwatchable] = {}
        self._polled_at: dict[str, float] = {}
        self._retry_at = float("inf")
        self._events: dict[str, float] = {}
        self._mounts = MountTable()
        self._rewatch_requested = False
        self._probe_at = 0.0
        self._probes_failed = 0

    def start(self) -> None:
        """Start the threads and watch the roots set so far."""
        with self._lock:
            self._active = True
            self._delivery.start()
            locations = locate_roots(self._given)
            self._mounts.find_changed(location.path for location in locations)
            self._arrange(locations, time.monotonic(), retry=True)

    def stop(self) -> None:
        """Stop watching. When it returns, `on_dirty` will not be called again."""
        with self._lock:
            self._active = False
            self._locations = ()
            self._stop_backend()
            self._mounts.close()
        self._delivery.stop()

    def set_roots(self, roots: Iterable[Root]) -> None:
        """Watch these roots and no others; watched ones stay watched."""
        with self._lock:
            self._given = tuple(roots)
            locations = locate_roots(self._given)
            if self._active and locations != self._locations:
                self._arrange(locations, time.monotonic())

    def tick(self, now: float) -> None:
        """Detect changes without an event, restart dead threads, poll unwatchable roots.

        `now` is in seconds of the monotonic clock. Takes microseconds unless something has changed;
        then the time to list every watched directory.
        """
        with self._lock:
            if not self._active:
                return
            lost = self._restart_dead() or self._probe(now)
            locations = locate_roots(self._given)
            retry = now >= self._retry_at
            remounted = self._find_remounted(locations)
            if lost or retry or remounted or locations != self._locations:
                self._arrange(locations, now, retry, remounted)
            if lost:
                self._hint_roots(location.path for location in locations)
            self._poll(now)

    def rewatch(self) -> None:
        """Add every watch again at the next tick, because a scan found changes without an event."""
        self._rewatch_requested = True

    def caught_up(self, timeout: float) -> frozenset[str]:
        """Return the real paths of roots whose changes so far have all been handed over.

        Takes at most `timeout` seconds; it never includes a root that is polled, missing or watched
        without an order of events.
        """
        until = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout):
            return frozenset()  # watches are being added to a large tree
        try:
            backend = self._running if self._active else None
            there = {location.path for location in self._locations if location.identity}
            roots = frozenset(root for root in there if not self._polls_within(root))
        finally:
            self._lock.release()
        if backend is None or not roots or not backend.caught_up(_measure_left(until)):
            return frozenset()
        return roots if self._delivery.flush(_measure_left(until)) else frozenset()

    def list_links(self) -> Mapping[str, str] | None:
        """Return the followed links, with their real targets; None if unknown."""
        running = self._running
        return None if running is None else running.list_links()

    def report_roots(self) -> tuple[RootWatch, ...]:
        """Return for each root, in path order, how it is watched."""
        # Without the lock, which is held long while a large tree is added or a disk hangs.
        locations, polled, running = self._locations, self._polled, self._running
        roots = tuple(self._report_root(location, polled, running) for location in locations)
        inside = polled.keys() - {location.path for location in locations}
        return roots + tuple(
            RootWatch(path, "polling", polled[path].reason) for path in sorted(inside)
        )

    # -- maintenance --

    def _arrange(
        self,
        locations: tuple[RootLocation, ...],
        now: float,
        retry: bool = False,
        remounted: tuple[str, ...] = (),
    ) -> None:
        dirty = find_changed(self._locations, locations) + remounted
        polled = find_unwatchable(locations, self._settings)
        if not retry:
            polled = {**self._retry_unwatchable(locations, dirty), **polled}
        there = tuple(
            location for location in locations if location.identity and location.path not in polled
        )
        paths = {location.path for location in there}
        unwatched = self._sync(there, frozenset(polled), dirty)
        if unwatched or retry:
            self._retry_at = now + self._settings.retry_interval if unwatched else float("inf")
        for path, cause in unwatched.items():
            log.warning("%s is polled: %s", path, cause.reason)
        polled |= unwatched
        # Between its last poll and its first watch a root may have changed.
        dirty += tuple(path for path in self._polled if path not in polled and path in paths)
        self._polled = polled
        self._polled_at = {path: self._polled_at.get(path, now) for path in self._polled}
        self._locations = locations
        self._hint_roots(dirty)

    def _retry_unwatchable(
        self, locations: tuple[RootLocation, ...], dirty: tuple[str, ...]
    ) -> dict[str, Unwatchable]:
        kept = {location.path for location in locations}.difference(dirty)
        return {path: cause for path, cause in self._polled.items() if path in kept}

    def _sync(
        self, there: tuple[RootLocation, ...], excluded: frozenset[str], dirty: tuple[str, ...]
    ) -> dict[str, Unwatchable]:
        paths = tuple(location.path for location in there)
        try:
            backend = self._running or self._start_backend()
        except OSError as error:
            return dict.fromkeys(paths, explain_no_inotify(error))
        for path in dirty:
            backend.forget(path)
        rules = {each.path: Symlinks(paths, each.links, limit=each.within) for each in there}
        return backend.sync(rules, excluded)

    def _start_backend(self) -> Backend:
        backend = self._backend(self._report, self._settings)
        backend.start()
        self._running = backend
        return backend

    def _stop_backend(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None

    def _find_remounted(self, locations: tuple[RootLocation, ...]) -> tuple[str, ...]:
        """Return the paths below the roots at which something was mounted or unmounted."""
        if locations == self._locations and not self._mounts.may_have_changed():
            return ()
        return self._mounts.find_changed(location.path for location in locations)

    def _probe(self, now: float) -> bool:
        """Test regularly that events are still read, and replace a backend that reads none."""
        if self._running is None or now < self._probe_at:
            return False
        self._probe_at = now + self._settings.probe_interval
        received = self._running.receives_events(_PROBE_TIMEOUT_S)
        self._probes_failed = 0 if received else self._probes_failed + 1
        if self._probes_failed < self._settings.failed_probes:
            return False
        log.error("the watcher stopped reading events; replacing its backend")
        # It may never return, so nothing waits for it.
        threading.Thread(target=self._running.stop, name="watch-abandoned", daemon=True).start()
        self._running, self._probes_failed = None, 0
        return True

    def _restart_dead(self) -> bool:
        """Replace threads that died; return whether events may have been lost."""
        lost = self._running is not None and self._running.stale
        if self._rewatch_requested:
            log.warning("changes came without an event; adding every watch again")
            self._rewatch_requested = False
            self._stop_backend()
            lost = True
        if self._running is not None and not self._running.alive():
            log.error("the event reader died; replacing the watcher's backend")
            self._stop_backend()
            lost = True
        if not self._delivery.alive():
            log.error("the delivery of hints died; restarting it")
            self._delivery = self._make_delivery()
            self._delivery.start()
            lost = True
        return lost

    def _make_delivery(self) -> Delivery:
        s = self._settings
        return Delivery(self._on_dirty, Debouncer(s.settle, s.max_wait, s.eager, s.limit))

    def _poll(self, now: float) -> None:
        for path, cause in self._polled.items():
            slowdown = max(1.0, cause.directories / POLLED_AT_FULL_RATE)
            if now - self._polled_at[path] >= self._settings.poll_interval * slowdown:
                self._polled_at[path] = now
                self._delivery.add(path, path)

    # -- hints and status --

    def _report(self, path: str, top: str, root: str) -> None:
        self._events[root] = time.time()
        self._delivery.add(path, top)

    def _hint_roots(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._delivery.add(path, path)

    def _report_root(
        self, location: RootLocation, polled: Mapping[str, Unwatchable], running: Backend | None
    ) -> RootWatch:
        event = self._events.get(location.path)
        if location.identity is None:
            return RootWatch(location.path, "missing", "nothing is at this path", 0, event)
        cause = polled.get(location.path)
        if cause is not None:
            return RootWatch(location.path, "polling", cause.reason, cause.directories, event)
        if running is None:
            return RootWatch(location.path, "missing", "the watcher is stopped", 0, event)
        return RootWatch(
            location.path, running.mode, "", running.count_directories(location.path), event
        )

    def _polls_within(self, root: str) -> bool:
        return any(is_within(path, root) for path in self._polled)


def _measure_left(until: float) -> float:
    return max(0.0, until - time.monotonic())
