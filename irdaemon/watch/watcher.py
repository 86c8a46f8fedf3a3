"""The watcher: keep the right watches on the roots, and hand dirty hints over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import at_or_under
from irdaemon.types import Root, RootWatch
from irdaemon.watch.backend import Backend, native
from irdaemon.watch.debounce import Debouncer
from irdaemon.watch.delivery import Pump
from irdaemon.watch.limits import Refusal, start_refusal
from irdaemon.watch.mounts import MountTable
from irdaemon.watch.roots import Place, changed, locate, unwatchable
from irdaemon.watch.settings import Report, Settings

log = logging.getLogger(__name__)

# A poll of a root with more directories than this comes proportionally less often: stamping a
# tree costs about a second per 100,000 directories, and must not become a steady load.
POLLED_AT_EASE = 5_000
_HEARS_WITHIN_S = 5.0


class Watcher:
    """Call `on_dirty` with real paths that may have changed, each at most once per change.

    `on_dirty` is called from the watcher's own thread, never twice at a time; a path that is a
    root asks for a rescan of that root, and comes for every root that is new, remade or gone, and
    whenever events may have been lost. Call `tick` about once a second.
    """

    def __init__(
        self,
        on_dirty: Callable[[tuple[str, ...]], None],
        settings: Settings | None = None,
        backend: Callable[[Report, Settings], Backend] = native,
    ):
        self._settings = settings or Settings()
        self._on_dirty = on_dirty
        self._backend = backend
        self._running: Backend | None = None
        self._pump = self._new_pump()
        self._care = threading.RLock()
        self._active = False
        self._given: tuple[Root, ...] = ()
        self._places: tuple[Place, ...] = ()
        self._polled: dict[str, Refusal] = {}
        self._polled_at: dict[str, float] = {}
        self._retry_at = float("inf")
        self._events: dict[str, float] = {}
        self._mounts = MountTable()
        self._distrusted = False
        self._probe_at = 0.0
        self._unheard = 0

    def start(self) -> None:
        """Start the threads and watch the roots set so far."""
        with self._care:
            self._active = True
            self._pump.start()
            places = locate(self._given)
            self._mounts.changed(place.path for place in places)
            self._arrange(places, time.monotonic(), retry=True)

    def stop(self) -> None:
        """Stop watching. When it returns, `on_dirty` will not be called again."""
        with self._care:
            self._active = False
            self._places = ()
            self._stop_backend()
            self._mounts.close()
        self._pump.stop()

    def set_roots(self, roots: Iterable[Root]) -> None:
        """Watch these roots and no others; those already watched stay so."""
        with self._care:
            self._given = tuple(roots)
            places = locate(self._given)
            if self._active and places != self._places:
                self._arrange(places, time.monotonic())

    def tick(self, now: float) -> None:
        """Notice what raises no event, heal what broke, poll what cannot be watched.

        `now` is in seconds of the monotonic clock. Takes microseconds unless something changed;
        then the time to list every watched directory.
        """
        with self._care:
            if not self._active:
                return
            lost = self._revive() or self._probe(now)
            places = locate(self._given)
            retry = now >= self._retry_at
            remounted = self._remounted(places)
            if lost or retry or remounted or places != self._places:
                self._arrange(places, now, retry, remounted)
            if lost:
                self._hint_roots(place.path for place in places)
            self._poll(now)

    def distrust(self) -> None:
        """Have every watch set anew at the next tick: changes were found that no event told of."""
        self._distrusted = True

    def caught_up(self, timeout: float) -> frozenset[str]:
        """Return the real paths of roots of which every change so far has been handed over.

        Takes at most `timeout` seconds; a root that is polled, missing or watched without an order
        of events is never among them.
        """
        until = time.monotonic() + timeout
        if not self._care.acquire(timeout=timeout):
            return frozenset()  # a large tree is being planted
        try:
            backend = self._running if self._active else None
            there = {place.path for place in self._places if place.identity}
            roots = frozenset(root for root in there if not self._polls_within(root))
        finally:
            self._care.release()
        if backend is None or not roots or not backend.caught_up(_left(until)):
            return frozenset()
        return roots if self._pump.flush(_left(until)) else frozenset()

    def status(self) -> tuple[RootWatch, ...]:
        """Say for each root, in path order, how it is watched."""
        # Without the lock, which is held for long while a large tree is planted or a disk hangs.
        places, polled, running = self._places, self._polled, self._running
        roots = tuple(self._status(place, polled, running) for place in places)
        inside = polled.keys() - {place.path for place in places}
        return roots + tuple(
            RootWatch(path, "polling", polled[path].reason) for path in sorted(inside)
        )

    # -- care --

    def _arrange(
        self,
        places: tuple[Place, ...],
        now: float,
        retry: bool = False,
        remounted: tuple[str, ...] = (),
    ) -> None:
        dirty = changed(self._places, places) + remounted
        polled = unwatchable(places, self._settings)
        if not retry:
            polled = {**self._still_refused(places, dirty), **polled}
        there = tuple(place for place in places if place.identity and place.path not in polled)
        paths = {place.path for place in there}
        refused = self._sync(there, frozenset(polled), dirty)
        if refused or retry:
            self._retry_at = now + self._settings.retry_interval if refused else float("inf")
        for path, refusal in refused.items():
            log.warning("%s is polled: %s", path, refusal.reason)
        polled |= refused
        # Between its last poll and its first watch a root may have changed.
        dirty += tuple(path for path in self._polled if path not in polled and path in paths)
        self._polled = polled
        self._polled_at = {path: self._polled_at.get(path, now) for path in self._polled}
        self._places = places
        self._hint_roots(dirty)

    def _still_refused(
        self, places: tuple[Place, ...], dirty: tuple[str, ...]
    ) -> dict[str, Refusal]:
        kept = {place.path for place in places}.difference(dirty)
        return {path: refusal for path, refusal in self._polled.items() if path in kept}

    def _sync(
        self, there: tuple[Place, ...], apart: frozenset[str], dirty: tuple[str, ...]
    ) -> dict[str, Refusal]:
        paths = tuple(place.path for place in there)
        try:
            backend = self._running or self._start_backend()
        except OSError as error:
            return dict.fromkeys(paths, start_refusal(error))
        for path in dirty:
            backend.forget(path)
        return backend.sync({each.path: Symlinks(paths, each.links) for each in there}, apart)

    def _start_backend(self) -> Backend:
        backend = self._backend(self._report, self._settings)
        backend.start()
        self._running = backend
        return backend

    def _stop_backend(self) -> None:
        if self._running is not None:
            self._running.stop()
        self._running = None

    def _remounted(self, places: tuple[Place, ...]) -> tuple[str, ...]:
        """Return where below the roots something was mounted or unmounted."""
        if places == self._places and not self._mounts.may_have_changed():
            return ()
        return self._mounts.changed(place.path for place in places)

    def _probe(self, now: float) -> bool:
        """Try now and then whether events are still read, and replace a backend that is deaf."""
        if self._running is None or now < self._probe_at:
            return False
        self._probe_at = now + self._settings.probe_interval
        self._unheard = 0 if self._running.hears(_HEARS_WITHIN_S) else self._unheard + 1
        if self._unheard < self._settings.deaf_after:
            return False
        log.error("events are no longer read; watching anew")
        # It may never come to its end: it is left to itself.
        threading.Thread(target=self._running.stop, name="watch-deaf", daemon=True).start()
        self._running, self._unheard = None, 0
        return True

    def _revive(self) -> bool:
        """Replace threads that died; return whether events may have been lost."""
        lost = self._running is not None and self._running.stale
        if self._distrusted:
            log.warning("changes came without an event; watching anew")
            self._distrusted = False
            self._stop_backend()
            lost = True
        if self._running is not None and not self._running.alive():
            log.error("the event reader died; watching anew")
            self._stop_backend()
            lost = True
        if not self._pump.alive():
            log.error("the hand-over of hints died; starting it anew")
            self._pump = self._new_pump()
            self._pump.start()
            lost = True
        return lost

    def _new_pump(self) -> Pump:
        s = self._settings
        return Pump(self._on_dirty, Debouncer(s.settle, s.max_wait, s.eager, s.limit))

    def _poll(self, now: float) -> None:
        for path, refusal in self._polled.items():
            ease = max(1.0, refusal.directories / POLLED_AT_EASE)
            if now - self._polled_at[path] >= self._settings.poll_interval * ease:
                self._polled_at[path] = now
                self._pump.add(path, path)

    # -- hints and status --

    def _report(self, path: str, top: str, root: str) -> None:
        self._events[root] = time.time()
        self._pump.add(path, top)

    def _hint_roots(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._pump.add(path, path)

    def _status(
        self, place: Place, polled: Mapping[str, Refusal], running: Backend | None
    ) -> RootWatch:
        event = self._events.get(place.path)
        if place.identity is None:
            return RootWatch(place.path, "missing", "nothing is at this path", 0, event)
        refusal = polled.get(place.path)
        if refusal is not None:
            return RootWatch(place.path, "polling", refusal.reason, refusal.directories, event)
        if running is None:
            return RootWatch(place.path, "missing", "the watcher is stopped", 0, event)
        return RootWatch(place.path, running.mode, "", running.directories(place.path), event)

    def _polls_within(self, root: str) -> bool:
        return any(at_or_under(path, root) for path in self._polled)


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())
