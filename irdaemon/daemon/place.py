"""The place of a serving process: the locks that keep others from it, and its sockets' files."""

from __future__ import annotations

import logging
import os

from irclient.errors import IRError
from irdaemon.daemon.lock import Lock
from irdaemon.serve.listen import Listener
from irdaemon.serve.sockets import AlreadyRunning

log = logging.getLogger(__name__)

_EVERY_S = 1.0


class ServingPlace:
    """The locks of a state directory and of a socket, held until the process ends.

    Raises IRError where another process has one of them.
    """

    def __init__(self, state_dir: str, socket: str):
        self._locks: tuple[Lock, ...] = (
            Lock.take(os.path.join(state_dir, "lock")),
            Lock.take(os.path.join(os.path.dirname(socket), "lock")),
        )
        self._kept_at = 0.0
        self._misplaced = ""

    def keep(self, listener: Listener, now: float) -> None:
        """Once a second, put back locks and sockets that were removed.

        Raises AlreadyRunning where another process has taken their place: this one must end.
        """
        if now - self._kept_at < _EVERY_S:
            return
        self._kept_at = now
        try:
            self._locks = tuple(lock.kept() for lock in self._locks)
            listener.restore()
            self._misplaced = ""
        except AlreadyRunning:
            raise
        except IRError as error:  # a full disk, say: peers that are connected are still answered
            if error.message != self._misplaced:
                log.error("a lock or a socket was removed, and cannot be put back: %s", error)
            self._misplaced = error.message
