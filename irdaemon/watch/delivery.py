"""The thread that hands due paths over, so that a slow receiver never delays the event reader."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from irdaemon.watch.debounce import Debouncer


class Delivery:
    """Call `on_dirty` with the debouncer's paths as they become due."""

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
            planned = self._debouncer.next_due()
            self._debouncer.add(path, time.monotonic(), top)
            due = self._debouncer.next_due()
            # Waking the thread for an event that only postpones it would cost a context switch
            # for each of the thousands of events in a checkout.
            if planned is None or (due is not None and due < planned):
                self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Hand over all waiting paths now; return whether that ended within `timeout` seconds."""
        with self._changed:
            self._debouncer.make_due(time.monotonic())
            until = self._taken + (self._debouncer.next_due() is not None)
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._handed >= until, timeout)

    def _run(self) -> None:
        while paths := self._next():
            try:
                self._on_dirty(paths)
            finally:
                with self._changed:
                    self._handed += 1
                    self._changed.notify_all()

    def _next(self) -> tuple[str, ...]:
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                if paths := self._debouncer.due(now):
                    self._taken += 1
                    return paths
                due = self._debouncer.next_due()
                self._changed.wait(None if due is None else max(0.0, due - now))
        return ()
