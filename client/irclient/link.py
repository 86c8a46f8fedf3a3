"""One connection to the daemon, for both clients.

A link lives as long as its connection. libzmq would connect again by itself, and then it could not
be known whether a request had gone to the daemon of before.
"""

from __future__ import annotations

from typing import Any

import zmq

from irclient.access import Access


class Link:
    """A DEALER to the daemon, the monitor of its connection, and a poller of both.

    All are plain or all asyncio's: the context makes the sockets, the poller is given.
    """

    def __init__(self, context: zmq.Context[Any], access: Access, poller: zmq.Poller):
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        # Without this a request to a dead socket would wait for a later daemon.
        self.socket.immediate = 1
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.poller = poller
        poller.register(self.socket, zmq.POLLIN)
        poller.register(self.monitor, zmq.POLLIN)
        access.connect(self.socket)

    @property
    def lost(self) -> bool:
        """Say whether the connection that was there has ended."""
        return bool(self.monitor.get(zmq.EVENTS) & zmq.POLLIN)

    def close(self) -> None:
        """Close the sockets; what was not sent yet is dropped."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=0)
