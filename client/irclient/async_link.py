"""One connection for many calls at a time: a task hands each reply to the call it is for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import zmq.asyncio

from irclient import wire
from irclient.access import Access
from irclient.errors import IRError, ProtocolError, Unreachable
from irclient.fast.replies import connection_lost
from irclient.link import Link


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A request of `size` bytes on its way, and the reply that will come for it.

    That no reply can come is a reply with the error: an exception on a future that was abandoned
    would be logged.
    """

    size: int
    sending: asyncio.Future[None]
    reply: asyncio.Future[wire.Reply]

    @property
    def is_sent(self) -> bool:
        """Say whether a connection took the request, or ended before it could."""
        return self.sending.done() or self.reply.done()


class AsyncLink:
    """A link that is read until its connection ends; then every call under way gets an error."""

    def __init__(self, context: zmq.asyncio.Context, access: Access):
        self._poller = zmq.asyncio.Poller()
        self._link = Link(context, access, self._poller)
        self._pending: dict[int, PendingCall] = {}
        self._ended = False
        self._reading = asyncio.create_task(self._read())

    @property
    def ended(self) -> bool:
        """Say whether a new link is needed."""
        return self._ended or self._link.lost

    def send(self, number: int, data: bytes) -> PendingCall:
        """Send a request as soon as there is a connection."""
        reply: asyncio.Future[wire.Reply] = asyncio.get_running_loop().create_future()
        call = PendingCall(len(data), asyncio.ensure_future(self._link.socket.send(data)), reply)
        self._pending[number] = call
        return call

    def forget(self, number: int) -> None:
        """Expect no reply any more; a request that was not sent yet never is."""
        if call := self._pending.pop(number, None):
            call.sending.cancel()
            call.reply.cancel()

    async def close(self) -> None:
        """End the connection, and the calls under way."""
        self._reading.cancel()
        await asyncio.wait((self._reading,))

    async def _read(self) -> None:
        try:
            await self._hand_out()
        finally:
            self._end()

    async def _hand_out(self) -> None:
        while self._link.socket in dict(await self._poller.poll()):
            try:
                reply = wire.read_reply(await self._link.socket.recv())
            except ProtocolError as error:
                return self._fail_all(error)  # whose reply that was is not known
            call = self._pending.get(reply.id) if reply.id else self._largest()
            if call and not call.reply.done():
                call.reply.set_result(reply)
        for call in self._pending.values():
            self._fail(call, connection_lost(call.size))

    def _largest(self) -> PendingCall | None:
        """Return the request whose number the daemon did not read: it was too large for that."""
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
