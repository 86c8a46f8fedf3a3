"""Erasing: what was forgotten is in no file any more within a minute.

`secure_delete` overwrites what is deleted where it lies. Left are the write-ahead log, which holds
pages as they were; pages in which SQLite has moved rows about, and left copies; words in the
vocabulary; and images. So the log is folded into the ledger soon after each change, and the ledger
is written anew (VACUUM) once something was forgotten. Both wait for a quiet moment, and not for
long; writing anew gives way to a change, and gets no more than a hundredth of the time.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from dataclasses import dataclass

from irdaemon.engine.state import State
from irdaemon.ledger.sqlite_errors import UNDECODABLE, is_corrupt, without_text

log = logging.getLogger(__name__)

# Where it is quiet, and at the latest.
_FOLDED_WITHIN_S = (5.0, 20.0)
_FORGOTTEN_WITHIN_S = (15.0, 40.0)
_REPLACED_WITHIN_S = (600.0, 900.0)  # agents edit all day
_SHARE_OF_TIME = 0.01
_TRIED_AGAIN_AFTER_S = 2.0
# The writer checks before each job, and nothing here is due sooner than after seconds.
_CHECKED_EVERY_S = 1.0


@dataclass(slots=True)
class Deferred:
    """Something to be done when it is quiet, `quiet_s` after it was first wanted, or else by then.

    Times are Unix seconds.
    """

    quiet_s: float
    latest_s: float
    since: float | None = None

    def due(self, wanted: bool, quiet: bool, now: float) -> bool:
        """Return whether to do it now."""
        if not wanted:
            self.since = None
            return False
        if self.since is None or self.since > now:  # beyond that the clock was set back
            self.since = now
        return now - self.since >= (self.quiet_s if quiet else self.latest_s)

    def overdue(self, now: float) -> bool:
        """Return whether it can wait no longer."""
        return self.since is not None and now - self.since >= self.latest_s


class Eraser:
    """Erase forgotten text from the files. Only the writer may use it."""

    def __init__(self, state: State):
        self._state = state
        self._fold = Deferred(*_FOLDED_WITHIN_S)
        self._forgotten = Deferred(*_FORGOTTEN_WITHIN_S)
        self._replaced = Deferred(*_REPLACED_WITHIN_S)
        self._erased_again_at = 0.0
        self._checked_at = float("-inf")

    def tick(self) -> None:
        """Fold the log, write the ledger anew, or neither; what fails is tried again."""
        now, quiet, ledger = self._state.clock(), not self._state.work.waiting, self._state.ledger
        if 0 <= now - self._checked_at < _CHECKED_EVERY_S:
            return
        self._checked_at = now
        try:
            if self._fold.due(ledger.log_grew(), quiet, now):
                ledger.fold()
            if now >= self._erased_again_at and self._erasing_is_due(quiet, now):
                self._erase(now)
        except (sqlite3.Error, OSError, *UNDECODABLE) as error:
            met = isinstance(error, UNDECODABLE) or is_corrupt(error)
            if met and not self._state.suspects_damage(error) and isinstance(error, UNDECODABLE):
                raise
            log.debug("not erased yet: %s", without_text(error))
            self._erased_again_at = now + _TRIED_AGAIN_AFTER_S

    def _erasing_is_due(self, quiet: bool, now: float) -> bool:
        forgotten, replaced = self._state.ledger.forgotten()
        due = [self._forgotten.due(forgotten > 0, quiet, now)]
        due += [self._replaced.due(replaced > 0, quiet, now)]
        return any(due)

    def _erase(self, now: float) -> None:
        started = time.monotonic()
        self._blank_images()
        self._state.ledger.forget_unused_terms()
        must = self._forgotten.overdue(now) or self._replaced.overdue(now)
        self._state.ledger.vacuum(None if must else lambda: self._state.work.change_waits)
        took_s = time.monotonic() - started
        self._erased_again_at = now + took_s / _SHARE_OF_TIME

    def _blank_images(self) -> None:
        """Overwrite in images what the snapshot knows to be gone; no query reads that any more."""
        images = self._state.options.images
        if images is None:
            return
        for name, index in self._state.snapshot.corpora.items():
            last = index.rows.last_tombstone

            def gone(after: int, name: str = name, last: int = last) -> list[int]:
                return self._state.ledger.index_rows.tombstones_since(name, after, last)[0]

            images.blank(name, gone)
