"""Memory that nothing needs for now is given back: after long work, and while no request comes.

After work: the words that were analysed, the vocabulary's own dict, SQLite's pages, and what the
allocator keeps. Without requests: the pages of images and models, which the system keeps in its
cache as long as it has room, so that the next answer takes a few milliseconds more at the most.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from irdaemon import text
from irdaemon.engine.state import State
from irdaemon.runtime.memory import trim

# Jobs that took less together leave nothing worth a collection of garbage, which stops queries.
_WORTH_S = 1.0
_QUIET_S = 15.0
_UNASKED_S = 60.0
_CHECKED_EVERY_S = 1.0


class Release:
    """Give back memory in quiet moments. Only the writer may use it."""

    def __init__(self, state: State, clock: Callable[[], float] = time.monotonic):
        self._state = state
        self._clock = clock
        self._checked_at = self._worked_at = float("-inf")
        self._worked_s = 0.0
        self._pages_used = True

    def worked(self, seconds: float) -> None:
        """Note that a job has ended, and how long it took."""
        self._worked_s += seconds
        self._worked_at = self._clock()
        self._pages_used = True

    def tick(self) -> None:
        """Give back what is due; most often that is nothing."""
        now, state = self._clock(), self._state
        if now - self._checked_at < _CHECKED_EVERY_S or not state.host.writes:
            return
        self._checked_at = now
        quiet = now - self._worked_at >= _QUIET_S and not state.work.queued
        if quiet and self._worked_s >= _WORTH_S:
            self._worked_s = 0.0
            self._after_work()
        unasked = state.host.idle_s() >= _UNASKED_S
        if not unasked:
            self._pages_used = True
        elif quiet and self._pages_used:
            self._pages_used = False
            self._pages()

    def _after_work(self) -> None:
        text.forget_words()
        self._state.ledger.give_back()
        trim()

    def _pages(self) -> None:
        if self._state.options.images is not None:
            self._state.options.images.release()
        self._state.embedders.release_pages()
