"""The client for asyncio: the operations of `Client`, as coroutines.

    async with AsyncClient() as client:
        answer = await client.discover(Query("fill a pdf form"))

Calls may run at the same time: they share one connection, and replies find their call by number. A
call that is cancelled or late leaves the others alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from irclient import wire
from irclient.access import Access
from irclient.client import Caller, FeedReader, Link, read_event
from irclient.errors import IRError, Lost, ProtocolError, Unreachable
from irclient.fast.replies import (
    CONNECT_S,
    make_connection_error,
    make_lost_error,
    make_timeout_error,
)
from irclient.ops.coroutines import Coroutines
from irclient.ops.row import Op
from irclient.types import Event

# One connection for many concurrent calls: a task hands each reply to its call.


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A request of `size` bytes on its way, and its future reply.

    A failure is also set as a reply: asyncio would log an exception on an abandoned future.
    """

    size: int
    sending: asyncio.Future[None]
    reply: asyncio.Future[wire.Reply]


class AsyncLink:
    """A link that is read until its connection ends; then every pending call gets an error."""

    def __init__(self, context: zmq.asyncio.Context, access: Access):
        self._poller = zmq.asyncio.Poller()
        self._link = Link(context, access, self._poller)
        self._pending: dict[int, PendingCall] = {}
        self._ended = False
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        """Return whether a new link is needed."""
        return self._ended or self._link.lost

    def send(self, number: int, data: bytes) -> PendingCall:
        """Send a request as soon as there is a connection."""
        reply: asyncio.Future[wire.Reply] = asyncio.get_running_loop().create_future()
        call = PendingCall(len(data), asyncio.ensure_future(self._link.socket.send(data)), reply)
        self._pending[number] = call
        return call

    def forget(self, number: int) -> None:
        """Stop waiting for a reply; a request not yet sent never will be."""
        if call := self._pending.pop(number, None):
            call.sending.cancel()
            call.reply.cancel()

    async def close(self) -> None:
        """End the connection and the pending calls."""
        self._reading.cancel()
        await asyncio.wait((self._reading,))

    async def _read(self) -> None:
        try:
            await self._deliver_replies()
        finally:
            self._end()

    async def _deliver_replies(self) -> None:
        while self._link.socket in dict(await self._poller.poll()):
            try:
                reply = wire.read_reply(await self._link.socket.recv())
            except ProtocolError as error:
                return self._fail_all(error)  # the call of that reply is unknown
            call = self._pending.get(reply.id) if reply.id else self._find_largest()
            if call and not call.reply.done():
                call.reply.set_result(reply)
        for call in self._pending.values():
            self._fail(call, make_lost_error(call.size))

    def _find_largest(self) -> PendingCall | None:
        """Return the largest pending call: a reply without a number refuses it for its size."""
        return max(self._pending.values(), key=lambda call: call.size, default=None)

    def _end(self) -> None:
        self._ended = True
        self._fail_all(Unreachable("the client was closed"))
        self._link.close()

    def _fail_all(self, error: IRError) -> None:
        for call in self._pending.values():
            self._fail(call, error)

    def _fail(self, call: PendingCall, error: IRError) -> None:
        if not call.reply.done():
            call.reply.set_result(wire.Reply(0, error=error))


# Events as they happen, for asyncio.


class AsyncSubscription(FeedReader, AsyncIterator[Event]):
    """Iterate over events with `async for`; made by `AsyncClient.events`, for its event loop."""

    make_poller = zmq.asyncio.Poller
    _poller: zmq.asyncio.Poller

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    async def __anext__(self) -> Event:
        while not self.socket.closed and (ready := dict(await self._poller.poll(self._timeout_ms))):
            if self.socket in ready:
                return read_event(await self.socket.recv_multipart())
            if event := self.notice(await recv_monitor_message(self.monitor)):
                return event
        self.close()
        raise StopAsyncIteration


class AsyncClient(Caller, Coroutines):
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    It belongs to the event loop that it is first used in, and to that loop's thread.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        super().__init__(endpoint, timeout, keys, token)
        self._context = zmq.asyncio.Context.instance()
        self._link: AsyncLink | None = None

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; pending calls become Unreachable, a later call opens it again."""
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()

    def events(self, topics: Sequence[str] = (), timeout: float | None = None) -> AsyncSubscription:
        """Return the daemon's events from now on, of some topics or of all.

        They end after `timeout` seconds without one; None: never. Raises Unreachable where there is
        no daemon.
        """
        return AsyncSubscription(self._context, self.endpoint, topics, timeout)

    # -- one call --------------------------------------------------------------------------------

    async def call(self, op: str, args: Mapping[str, Any], waiting: float = 0.0) -> Any:
        """Run one operation by name and return its plain result; it is never sent again.

        `waiting` is how many seconds longer than usual the daemon was asked to take. Raises the
        error the daemon sent; Unreachable, Timeout or Lost when no reply came.
        """
        return await self._ask(Op(op, repeatable=False), args, waiting)

    async def _run(self, op: Op, args: Mapping[str, Any]) -> Any:
        return op.read_result(await self._ask(op, args, op.compute_extra_s(args)))

    async def _ask(self, op: Op, args: Mapping[str, Any], extra_s: float) -> Any:
        allowed = self.timeout + extra_s
        deadline = asyncio.get_running_loop().time() + allowed
        number, data = self._pack(op, args, allowed)
        try:
            return await self._exchange(number, data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            return await self._exchange(number, data, deadline)

    async def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connect()
        call = link.send(number, data)
        try:
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=min(CONNECT_S, deadline - now))
            # No connection took the request, and none was lost before it could.
            if not (call.sending.done() or call.reply.done()):
                raise make_connection_error(self.endpoint)
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=deadline - now)
            if not call.reply.done():
                raise make_timeout_error(self.timeout)
            return call.reply.result().unwrap()
        finally:
            link.forget(number)

    def _connect(self) -> AsyncLink:
        if self._link is None or self._link.ended:
            self._link = AsyncLink(self._context, self._access)
        return self._link
