"""The signals that a serving process is sent, noted for its loop to look at."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator


class NotedSignals:
    """Note SIGTERM, SIGINT and SIGHUP as they come. Belongs to the main thread."""

    def __init__(self) -> None:
        self._received: list[int] = []

    @contextlib.contextmanager
    def noted(self, wakeup_fd: int) -> Iterator[None]:
        """Note signals while the work inside goes on; a byte to a descriptor ends its waiting."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, frame: self._received.append(received))
        signal.set_wakeup_fd(wakeup_fd, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)

    def ask_to_stop(self, on_hangup: Callable[[], None]) -> bool:
        """Return whether the process is to stop; a hangup calls a function in place of that."""
        while self._received:
            if self._received.pop(0) != signal.SIGHUP:
                return True
            on_hangup()
        return False
