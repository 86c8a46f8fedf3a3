"""How often the daemon's threads look around: less where nothing happens.

Every wake-up keeps a processor from its deeper sleep. What must be seen at once wakes a thread by
itself: a request, an event of the kernel, a job, a signal. The rest is looked for every second, and
every five seconds once nothing has been asked or done for a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BUSY_S, QUIET_S = 1.0, 5.0
_QUIET_AFTER_S = 60.0


class Pace:
    """Tell how long a thread may sleep; any thread may ask and note."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._noted_at = clock()

    def note(self) -> None:
        """Note that something was asked or done."""
        self._noted_at = self._clock()

    def sleep_s(self, requested_at: float = float("-inf")) -> float:
        """Return how many seconds to sleep at most; the last request came at `requested_at`."""
        latest = max(self._noted_at, requested_at)
        return QUIET_S if self._clock() - latest >= _QUIET_AFTER_S else BUSY_S
