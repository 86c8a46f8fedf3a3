"""The client: one method for each operation of the wire.

    with Client() as client:
        answer = client.discover(Query("fill a pdf form"))

A call sends one request on a kept connection and waits for its reply until the deadline. If nothing
accepts a connection it gives up sooner. If the daemon goes away before it answers, the request is
sent once more to its successor, provided that repeating it does no harm.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import zmq

from irclient import wire
from irclient.access import Access, choose_access
from irclient.errors import Lost, Unavailable, Unreachable
from irclient.fast.replies import (
    CONNECT_S,
    make_connection_error,
    make_lost_error,
    make_no_daemon_error,
    make_timeout_error,
)
from irclient.ops import Operations
from irclient.ops.row import Op
from irclient.places import events_path, is_remote
from irclient.types import Event

# Events as they happen, and notice when the daemon that publishes them goes and comes back.

LOST, BACK = "lost", "back"


class FeedReader:
    """The daemon's events, of some topics or of all; they end after `timeout` seconds without one.

    It has a SUB socket, and the monitor of its connection: plain ones or asyncio's, as the context
    makes them. Raises Unreachable where there is no daemon, Unavailable for one on another machine.
    """

    make_poller: type[zmq.Poller] = zmq.Poller
    socket: Any = None

    def __init__(
        self,
        context: zmq.Context[Any],
        endpoint: str,
        topics: Sequence[str],
        timeout: float | None,
    ):
        if is_remote(endpoint):
            hint = "irc status asks"
            raise Unavailable("events are published on the daemon's machine only", hint)
        if not os.path.exists(endpoint):
            raise make_no_daemon_error(endpoint)
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        for topic in topics or ("",):
            self.socket.subscribe(topic)
        self.monitor = self.socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        self.socket.connect(f"ipc://{events_path(endpoint)}")
        self._was_lost = False
        self._timeout_ms = -1 if timeout is None else int(timeout * 1000)
        self._poller = self.make_poller()
        self._poller.register(self.monitor, zmq.POLLIN)
        self._poller.register(self.socket, zmq.POLLIN)

    def notice(self, message: Any) -> Event | None:
        """Return a message of the monitor as an event; None for the first connection."""
        if message["event"] == zmq.EVENT_DISCONNECTED:
            self._was_lost = True
            return Event(LOST, {})
        return Event(BACK, {}) if self._was_lost else None

    def close(self) -> None:
        """End the events."""
        if self.socket is not None and not self.socket.closed:
            self.socket.disable_monitor()
            self.monitor.close(linger=0)
            self.socket.close(linger=0)

    def __del__(self) -> None:
        # A loop over events that ends with `break` closes nothing itself.
        self.close()


def read_event(frames: Sequence[bytes]) -> Event:
    """Return a message of the daemon as an event."""
    return Event(frames[0].decode("utf-8", "replace"), wire.unpack_event(frames[-1]))


class Subscription(FeedReader, Iterator[Event]):
    """Iterate over events; made by `Client.events`, and like it for one thread."""

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __next__(self) -> Event:
        # Imported late: it loads all of asyncio, 25 ms that no other call needs.
        from zmq.utils.monitor import recv_monitor_message

        while not self.socket.closed and (ready := dict(self._poller.poll(self._timeout_ms))):
            if self.socket in ready:
                return read_event(self.socket.recv_multipart())
            if event := self.notice(recv_monitor_message(self.monitor)):
                return event
        self.close()
        raise StopIteration


# One connection to the daemon, for both clients.
#
# A link lives as long as its connection. libzmq would reconnect by itself, and then it would be
# unknown whether a request had gone to the previous daemon.


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
        """Return whether an established connection has ended."""
        return bool(self.monitor.get(zmq.EVENTS) & zmq.POLLIN)

    def close(self) -> None:
        """Close the sockets and drop unsent requests."""
        self.socket.disable_monitor()
        self.monitor.close(linger=0)
        self.socket.close(linger=0)


class Caller:
    """The base of both clients: the address of a daemon, and the number of the next call."""

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self._access = choose_access(endpoint, keys, token)
        self.endpoint = self._access.endpoint
        self.timeout = timeout
        self._numbers = itertools.count(1)

    def _pack(self, op: Op, args: Mapping[str, Any], allowed_s: float) -> tuple[int, bytes]:
        """Return the number and the bytes of a request. Raises Unreachable without a socket."""
        if not self._access.exists:
            raise make_no_daemon_error(self.endpoint)
        number = next(self._numbers)
        request = wire.Request(number, op.name, args, 1000 * allowed_s, self._access.token)
        return number, wire.pack_request(request)


class Client(Caller, Operations):
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    Not to be shared between threads: a client for each costs little.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        super().__init__(endpoint, timeout, keys, token)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._link: Link | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def events(self, topics: Sequence[str] = (), timeout: float | None = None) -> Subscription:
        """Return the daemon's events from now on, of some topics or of all.

        They end after `timeout` seconds without one; None: never. Raises Unreachable where there is
        no daemon.
        """
        return Subscription(self._context, self.endpoint, topics, timeout)

    # -- one call --------------------------------------------------------------------------------

    def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result; it is never sent again.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable, Timeout or Lost when no reply came.
        """
        return self._ask(Op(op, repeatable=False), args, waiting)

    def _run(self, op: Op, args: Mapping[str, Any]) -> Any:
        return op.read_result(self._ask(op, args, op.compute_extra_s(args)))

    def _ask(self, op: Op, args: Mapping[str, Any], extra_s: float) -> Any:
        allowed = self.timeout + extra_s
        deadline = time.monotonic() + allowed
        number, data = self._pack(op, args, allowed)
        try:
            return self._exchange(number, data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            return self._exchange(number, data, deadline)

    def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connect()
        try:
            self._send(link, data, min(deadline, time.monotonic() + CONNECT_S))
            return self._receive(link, number, deadline, len(data))
        except Unreachable:
            self.close()  # a late reply must not be taken for that of the next call
            raise

    def _send(self, link: Link, data: bytes, deadline: float) -> None:
        link.socket.sndtimeo = _count_milliseconds(deadline)
        try:
            link.socket.send(data)
        except zmq.Again:
            raise make_connection_error(self.endpoint) from None

    def _receive(self, link: Link, number: int, deadline: float, size: int) -> Any:
        while ready := dict(link.poller.poll(_count_milliseconds(deadline))):
            if link.socket not in ready:
                raise make_lost_error(size)
            reply = wire.read_reply(link.socket.recv())
            if reply.id in (number, 0):  # 0: the daemon could not read the request's number
                return reply.unwrap()
        raise make_timeout_error(self.timeout)

    def _connect(self) -> Link:
        if self._link is not None and self._link.lost:
            self.close()
        if self._link is None:
            self._link = Link(self._context, self._access, zmq.Poller())
        return self._link


def _count_milliseconds(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))
