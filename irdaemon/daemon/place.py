"""A serving process among others: its locks, sockets, signals and service manager."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator

from irclient.errors import IRError
from irdaemon.daemon.lock import Lock
from irdaemon.serve.listen import Listener
from irdaemon.serve.sockets import AlreadyRunning

log = logging.getLogger(__name__)

_EVERY_S = 1.0


class ServingPlace:
    """The locks of a state directory and of a socket, held until the process ends.

    Raises IRError if another process has one of them.
    """

    def __init__(self, state_dir: str, socket: str):
        self._locks: tuple[Lock, ...] = (
            Lock.take(os.path.join(state_dir, "lock")),
            Lock.take(os.path.join(os.path.dirname(socket), "lock")),
        )
        self._kept_at = 0.0
        self._misplaced = ""

    def keep(self, listener: Listener, now: float) -> None:
        """Restore removed locks and sockets, once a second.

        Raises AlreadyRunning if another process has taken over: this one must end.
        """
        if now - self._kept_at < _EVERY_S:
            return
        self._kept_at = now
        try:
            self._locks = tuple(lock.renew() for lock in self._locks)
            listener.restore()
            self._misplaced = ""
        except AlreadyRunning:
            raise
        except IRError as error:  # for example a full disk: connected peers still get answers
            if error.message != self._misplaced:
                log.error("a lock or a socket was removed and cannot be restored: %s", error)
            self._misplaced = error.message


class SignalQueue:
    """Queue SIGTERM, SIGINT and SIGHUP as they arrive. Belongs to the main thread."""

    def __init__(self) -> None:
        self._received: list[int] = []

    @contextlib.contextmanager
    def receive(self, wakeup_fd: int) -> Iterator[None]:
        """Queue signals during the block; a byte to a descriptor ends its waiting."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, frame: self._received.append(received))
        signal.set_wakeup_fd(wakeup_fd, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)

    def take_stop(self, on_hangup: Callable[[], None]) -> bool:
        """Return whether the process should stop; on a hangup call a function instead."""
        while self._received:
            if self._received.pop(0) != signal.SIGHUP:
                return True
            on_hangup()
        return False


def notify(*lines: str) -> None:
    """Send lines such as "READY=1" to the service manager, if there is one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace
        address = "\0" + address[1:]
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager,
    ):
        manager.connect(address)
        manager.sendall("\n".join(lines).encode())


def watchdog_interval() -> float | None:
    """Return how often, in seconds, the manager wants a notification, or None.

    This is half of the limit, as sd_watchdog_enabled(3) advises.
    """
    allowed = os.environ.get("WATCHDOG_USEC", "")
    meant_for = os.environ.get("WATCHDOG_PID", "")
    if not allowed.isdigit() or meant_for not in ("", str(os.getpid())):
        return None
    return int(allowed) / 2e6
