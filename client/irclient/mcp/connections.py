"""Connections over HTTP: how long a request may take to arrive, and who makes room for whom.

Everybody on this machine can connect, and only the token tells who may ask. So a request has to
arrive in time, head and body; and where many have connected without showing the token, the one
that did so first is cut off. Whoever has shown it stays, and a stream of its answers may last.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

# Under this key of its state a request has the function that says its token was right.
LET_IN = "irclient.let_in"


class Strangers:
    """The connections that have not shown the token, in the order they came; at most `most`.

    A request of any connection has to arrive `within` seconds.
    """

    def __init__(self, most: int, within: float):
        self.within = within
        self._most = most
        self._all: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Take in a connection; the oldest is cut off where there are too many."""
        self._all[connection] = None
        if len(self._all) > self._most:
            oldest = next(iter(self._all))
            del self._all[oldest]
            oldest.cut()

    def discard(self, connection: Connection) -> None:
        """Forget a connection that has ended, or is none of a stranger."""
        self._all.pop(connection, None)


class Connection(H11Protocol):
    """A connection that is cut where a request does not arrive in time."""

    def __init__(
        self,
        strangers: Strangers,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ):
        super().__init__(config, server_state, {**app_state, LET_IN: self._let_in}, _loop)
        self._strangers = strangers
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._strangers.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._strangers.discard(self)
        self._wait_no_more()

    def handle_events(self) -> None:
        """Wait no more once a request is whole."""
        super().handle_events()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request; it may be here already."""
        self._wait()
        super().on_response_complete()

    def cut(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def _let_in(self) -> None:
        self._strangers.discard(self)

    def _wait(self) -> None:
        self._wait_no_more()
        self._timer = self.loop.call_later(self._strangers.within, self.cut)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
