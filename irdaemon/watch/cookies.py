"""Cookies: proof that every event up to a moment has been read.

The kernel queues the events of all watches of one inotify descriptor in the order they happen. So
once the creation of a file in the daemon's own directory is read, every earlier change has been
read too. (watchman puts such files into the watched trees; one queue needs none
there.)
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading

from irdaemon.source.opening import resolved


class Cookies:
    """Put files into a watched directory and wait for their events."""

    def __init__(self, directory: str):
        self.directory = resolved(directory) if directory else ""
        self._numbers = itertools.count()
        self._awaited: dict[str, threading.Event] = {}

    def make_directory(self) -> bool:
        """Make the directory; return whether there is one."""
        if not self.directory:
            return False
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
        except OSError:
            return False
        return True

    def seen(self, name: str) -> None:
        """Record that the event of a cookie has been read."""
        if (event := self._awaited.get(name)) is not None:
            event.set()

    def wait(self, timeout: float) -> bool:
        """Put a cookie, and return whether its event is read within `timeout` seconds.

        Raises OSError where no cookie can be put.
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
