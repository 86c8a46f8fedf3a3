"""What happens in the daemon, to every open stream of the page: one subscription for them all.

A browser opens one stream however many tabs it has; beyond the limit a tab polls. A reader that is
slow loses the oldest of what waits for it: what it shows it asks anew in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any
from weakref import WeakSet

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from irclient.async_client import AsyncClient
from irclient.errors import IRError
from irclient.invisible import shown

_MOST = 64
_WAITING = 64
_KEPT = 50
_AGAIN_S = 1.0


class EventStreams:
    """Hand the daemon's events to at most so many streams, and keep the newest of them."""

    def __init__(self, endpoint: str, timeout: float, most: int = _MOST):
        self._endpoint = endpoint
        self._timeout = timeout
        self._most = most
        # Weak: a stream whose reader left before its first event goes with its response.
        self._open: WeakSet[asyncio.Queue[dict[str, Any]]] = WeakSet()
        self._newest: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._reading: asyncio.Task[None] | None = None

    async def kept(self, request: Request) -> Response:
        """Answer with the last events, the newest first."""
        self._start()
        return JSONResponse(list(reversed(self._newest)))

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Hand an event to every stream, from the event loop that they are of."""
        event = shown({"event": topic, "at": time.time(), **data})
        self._newest.append(event)
        for waiting in self._open:
            if waiting.full():
                waiting.get_nowait()
            waiting.put_nowait(event)

    async def answer(self, request: Request) -> Response:
        """Answer with a stream of events, or 503 where too many are open."""
        self._start()
        if len(self._open) >= self._most:
            return PlainTextResponse("too many streams are open", 503, {"Retry-After": "5"})
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_WAITING)
        self._open.add(waiting)  # counted here, not where it is first read: many may open at once
        return EventSourceResponse(self._events(waiting), ping=15)

    async def _events(self, waiting: asyncio.Queue[dict[str, Any]]) -> AsyncIterator[str]:
        try:
            while True:
                yield json.dumps(await waiting.get())
        finally:
            self._open.discard(waiting)

    def _start(self) -> None:
        """Begin to listen to the daemon; that goes on for as long as the event loop runs."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        while True:
            with contextlib.suppress(IRError, OSError):
                async with AsyncClient(self._endpoint, self._timeout) as client:
                    async for topic, data in client.events():
                        self.publish(topic, data)
            await asyncio.sleep(_AGAIN_S)
