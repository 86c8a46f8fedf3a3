"""The client for asyncio: the operations of `Client`, as coroutines.

    async with AsyncClient() as client:
        answer = await client.discover(Query("fill a pdf form"))

Calls may run at the same time: they share one connection, and replies find their call by number. A
call that is cancelled or late leaves the others alone.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import zmq.asyncio

from irclient import wire
from irclient.access import access
from irclient.async_link import AsyncLink
from irclient.async_subscription import AsyncSubscription
from irclient.errors import Lost
from irclient.fast.replies import CONNECT_S, no_connection, no_daemon, too_late
from irclient.ops import Op
from irclient.ops.coroutines import Coroutines


class AsyncClient(Coroutines):
    """Talk to the daemon at `endpoint` (a socket path; the usual one by default).

    `tcp://HOST:PORT` needs a file of `keys` (else IRDAEMON_KEYS names it); `token` is the file of a
    token to ask with (else IRDAEMON_TOKEN). `timeout` is in seconds and holds for each call.
    It belongs to the event loop that it is first used in, and to that loop's thread.
    """

    def __init__(
        self, endpoint: str | None = None, timeout: float = 10.0, keys: str = "", token: str = ""
    ):
        self._access = access(endpoint, keys, token)
        self.endpoint = self._access.endpoint
        self.timeout = timeout
        self._context = zmq.asyncio.Context.instance()
        self._link: AsyncLink | None = None
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls under way are Unreachable, a later one opens it again."""
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
        return op.result(await self._ask(op, args, op.extra_s(args)))

    async def _ask(self, op: Op, args: Mapping[str, Any], extra_s: float) -> Any:
        if not self._access.exists:
            raise no_daemon(self.endpoint)
        allowed = self.timeout + extra_s
        deadline = asyncio.get_running_loop().time() + allowed
        number = next(self._numbers)
        request = wire.Request(number, op.name, args, 1000 * allowed, self._access.token)
        data = wire.pack_request(request)
        try:
            return await self._exchange(number, data, deadline)
        except Lost:
            if not op.repeatable:
                raise
            return await self._exchange(number, data, deadline)

    async def _exchange(self, number: int, data: bytes, deadline: float) -> Any:
        link = self._connected()
        call = link.send(number, data)
        try:
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=min(CONNECT_S, deadline - now))
            if not call.is_sent:
                raise no_connection(self.endpoint)
            now = asyncio.get_running_loop().time()
            await asyncio.wait((call.reply,), timeout=deadline - now)
            if not call.reply.done():
                raise too_late(self.timeout)
            return call.reply.result().value()
        finally:
            link.forget(number)

    def _connected(self) -> AsyncLink:
        if self._link is None or self._link.ended:
            self._link = AsyncLink(self._context, self._access)
        return self._link
