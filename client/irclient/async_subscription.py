"""Events as they happen, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType

import zmq.asyncio
from zmq.utils.monitor import recv_monitor_message

from irclient.subscription import Feed, event_of, open_feed
from irclient.types import Event


class AsyncSubscription(AsyncIterator[Event]):
    """Iterate over events with `async for`; made by `AsyncClient.events`, for its event loop."""

    def __init__(
        self,
        context: zmq.asyncio.Context,
        endpoint: str,
        topics: Sequence[str],
        timeout: float | None,
    ):
        self._feed: Feed | None = open_feed(context, endpoint, topics)
        self._timeout_ms = -1 if timeout is None else int(timeout * 1000)
        self._poller = zmq.asyncio.Poller()
        self._poller.register(self._feed.monitor, zmq.POLLIN)
        self._poller.register(self._feed.socket, zmq.POLLIN)

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the events."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    async def __anext__(self) -> Event:
        while self._feed and (ready := dict(await self._poller.poll(self._timeout_ms))):
            if self._feed.socket in ready:
                return event_of(await self._feed.socket.recv_multipart())
            if event := self._feed.noticed(await recv_monitor_message(self._feed.monitor)):
                return event
        self.close()
        raise StopAsyncIteration
