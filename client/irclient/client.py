"""The client: one method for each operation of the wire.

    with Client() as client:
        answer = client.discover(Query("fill a pdf form"))

A call sends one request on a kept connection and waits for its reply until the deadline. Where
nothing accepts a connection it gives up sooner. When the daemon goes away before it answered, the
request is sent once more to the one that comes after it, if to ask twice is as good as once.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import zmq

from irclient import wire
from irclient.access import access
from irclient.errors import Lost, Unreachable
from irclient.fast.replies import CONNECT_S, connection_lost, no_connection, no_daemon, too_late
from irclient.link import Link
from irclient.ops import Op, Operations

if TYPE_CHECKING:
    from irclient.subscription import Subscription


class Client(Operations):
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    Not to be shared between threads: a client for each costs little.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self._access = access(endpoint, keys, token)
        self.endpoint = self._access.endpoint
        self.timeout = timeout
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._link: Link | None = None
        self._numbers = itertools.count(1)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        # Not sooner: pyzmq's monitors bring all of asyncio, 25 ms that no other call needs.
        from irclient.subscription import Subscription

        return Subscription(self._context, self.endpoint, topics, timeout)

    # -- one call --------------------------------------------------------------------------------

    def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result; it is never sent again.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable, Timeout or Lost when no reply came.
        """
        return self._ask(Op(op, repeatable=False), args, waiting)

    def _run(self, op: Op, args: Mapping[str, Any]) -> Any:
        return op.result(self._ask(op, args, op.extra_s(args)))

    def _ask(self, op: Op, args: Mapping[str, Any], extra_s: float) -> Any:
        if not self._access.exists:
            raise no_daemon(self.endpoint)
        allowed = self.timeout + extra_s
        deadline = time.monotonic() + allowed
        number = next(self._numbers)
        request = wire.Request(number, op.name, args, 1000 * allowed, self._access.token)
        data = wire.pack_request(request)
        try:
            return self._exchange(number, data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            return self._exchange(number, data, deadline)

    def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connected()
        try:
            self._send(link, data, min(deadline, time.monotonic() + CONNECT_S))
            return self._receive(link, number, deadline, len(data))
        except Unreachable:
            self.close()  # a late reply must not be taken for that of the next call
            raise

    def _send(self, link: Link, data: bytes, deadline: float) -> None:
        link.socket.sndtimeo = _milliseconds(deadline)
        try:
            link.socket.send(data)
        except zmq.Again:
            raise no_connection(self.endpoint) from None

    def _receive(self, link: Link, number: int, deadline: float, size: int) -> Any:
        while ready := dict(link.poller.poll(_milliseconds(deadline))):
            if link.socket not in ready:
                raise connection_lost(size)
            reply = wire.read_reply(link.socket.recv())
            if reply.id in (number, 0):  # 0: the daemon could not even read our number
                return reply.value()
        raise too_late(self.timeout)

    def _connected(self) -> Link:
        if self._link is not None and self._link.lost:
            self.close()
        if self._link is None:
            self._link = Link(self._context, self._access, zmq.Poller())
        return self._link


def _milliseconds(deadline: float) -> int:
    return max(1, int((deadline - time.monotonic()) * 1000))
