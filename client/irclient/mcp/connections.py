"""Connections over HTTP: how long a request may take to arrive, and how many may lack the token.

Every user of this machine can connect, and only the token shows who may ask. So a request has to
arrive in time, head and body; and of too many connections without the token the oldest is cut. One
that has sent the token stays, and a stream of its answers may last.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

# Under this key of its state a request has the function to call once its token was right.
AUTHENTICATED = "irclient.authenticated"


class UnauthenticatedLimit:
    """Keep the connections that have not sent the token, in the order they came; at most `most`.

    A request of any connection has to arrive `within` seconds.
    """

    def __init__(self, most: int, within: float):
        self.within = within
        self._most = most
        self._all: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Add a connection; the oldest is cut where there are too many."""
        self._all[connection] = None
        if len(self._all) > self._most:
            oldest = next(iter(self._all))
            del self._all[oldest]
            oldest.cut()

    def discard(self, connection: Connection) -> None:
        """Forget a connection that has ended, or has sent the token."""
        self._all.pop(connection, None)


class Connection(H11Protocol):
    """A connection that is cut where a request does not arrive in time."""

    def __init__(
        self,
        limit: UnauthenticatedLimit,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ):
        super().__init__(
            config, server_state, {**app_state, AUTHENTICATED: self._authenticated}, _loop
        )
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._limit.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._limit.discard(self)
        self._stop_waiting()

    def handle_events(self) -> None:
        """Stop waiting once a request is whole."""
        super().handle_events()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request; it may be here already."""
        self._wait()
        super().on_response_complete()

    def cut(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def _authenticated(self) -> None:
        self._limit.discard(self)

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self._limit.within, self.cut)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
