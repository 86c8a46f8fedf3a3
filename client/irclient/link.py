"""One connection to the daemon, for both clients, and the errors where there is none.

A link lives as long as its connection. libzmq would connect again by itself, and then it could not
be known whether a request had gone to the daemon of before.
"""

from __future__ import annotations

from typing import Any

import zmq

from irclient.access import Access
from irclient.errors import LimitError, Lost, Timeout, Unreachable
from irclient.places import is_remote
from irclient.wire import MessageLimits

# Where nothing accepts a connection there is no point in waiting as long as for an answer.
CONNECT_S = 2.0


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


def no_daemon(endpoint: str) -> Unreachable:
    """Return the error for a path where there is no socket."""
    return Unreachable(f"no daemon at {endpoint}", "irdaemon start --detach")


def no_connection(endpoint: str) -> Unreachable:
    """Return the error for a socket or an address that accepts no connection."""
    hint = "irdaemon start --detach"
    if is_remote(endpoint):
        hint = "is it served there, and does the daemon know this key? (irdaemon keys, there)"
    return Unreachable(f"nothing answers at {endpoint}", hint)


def too_late(seconds: float) -> Timeout:
    """Return the error for an answer that did not come in time."""
    return Timeout(f"the daemon did not answer within {seconds:g} s", "irc status shows its load")


def connection_lost(size: int) -> Lost | LimitError:
    """Return the error for a connection that ended before the reply to a request of `size` bytes.

    The daemon cuts the connection of a peer that sends far too much at once.
    """
    if size > MessageLimits().bytes:
        return LimitError(f"the daemon refused a message of {size:,} bytes", "send less at once")
    return Lost("the daemon went away before it answered", "irc status shows whether it is back")
