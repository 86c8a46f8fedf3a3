"""Listen on the loopback address, where requests have to arrive in time.

All limits on how many are behind the proof that a request may ask (a token, a cookie), so that one
without it cannot use them up.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from irclient.errors import Unavailable

# Connections over HTTP: how long a request may take to arrive, and how many may lack the token.
#
# Every user of this machine can connect, and only the token proves who may ask. So a request has to
# arrive in time, and the oldest of too many connections without the token is cut. A connection that
# has sent the token stays, and may stream answers for long.

# The key in a request's state for the function to call once its token was accepted.
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
        """Add a connection; cut the oldest if there are too many."""
        self._all[connection] = None
        if len(self._all) > self._most:
            oldest = next(iter(self._all))
            del self._all[oldest]
            oldest.cut()

    def discard(self, connection: Connection) -> None:
        """Forget a connection that has ended, or has sent the token."""
        self._all.pop(connection, None)


class Connection(H11Protocol):
    """A connection that is cut if a request does not arrive in time."""

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
        """Begin to wait for the next request, which may have arrived already."""
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


ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
# A stream that a client keeps open must not keep the process from stopping.
_GRACE_S = 2
# Few connections are accepted at a time, so that a request sent at once is read before others
# displace it; the kernel queues the rest.
_ACCEPTED, _QUEUED = 32, 4_096


@dataclass(frozen=True, slots=True)
class Admission:
    """The seconds within which a request has to arrive, and the connections without the token."""

    within: float = 10.0
    unauthenticated: int = 128


def bind_port(port: int) -> socket.socket:
    """Return a socket bound to a port of the loopback address, 0 for any free one.

    Raises Unavailable where the port is taken.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except (OSError, OverflowError) as error:
        made.close()
        message = f"cannot listen at {ADDRESS}:{port}: {error}"
        raise Unavailable(message, "choose another --port") from error
    return made


# A termination signal waits as long.
_LOOKS_EVERY_S = 1.0


class _Server(uvicorn.Server):
    """A server whose queue of waiting connections is longer than the batch that it accepts.

    One without requests looks once a second whether it is to end, not ten times.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_QUEUED)

    async def main_loop(self) -> None:
        """Serve until told to end; the first of ten ticks renews the date."""
        while not await self.on_tick(0):
            await asyncio.sleep(_LOOKS_EVERY_S)


def make_http_server(app: ASGIApp, admission: Admission) -> uvicorn.Server:
    """Return the server of an application."""
    connection = partial(
        Connection, UnauthenticatedLimit(admission.unauthenticated, admission.within)
    )
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", connection),
        ws="none",
        proxy_headers=False,
        log_level="error",  # a line for each broken request would let strangers fill the log
        access_log=False,
        server_header=False,
        backlog=_ACCEPTED,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return _Server(config)
