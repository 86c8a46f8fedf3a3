"""Listening on the loopback address, where requests have to arrive in time.

All limits on how many are behind the proof that a request may ask (a token, a cookie), so that one
without it cannot use them up.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from functools import partial
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from irclient.errors import Unavailable
from irclient.mcp.connections import Connection, UnauthenticatedLimit

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
# A stream that a client keeps open must not keep the process from stopping.
_GRACE_S = 2
# So few are accepted at a time that a request sent at once is read before others displace it; the
# kernel queues so many that wait for that.
_ACCEPTED, _QUEUED = 32, 4_096


@dataclass(frozen=True, slots=True)
class Admission:
    """Within how many seconds a request has to arrive, and how many may wait without the token."""

    within: float = 10.0
    unauthenticated: int = 128


def bound(port: int) -> socket.socket:
    """Return a socket bound to a port of the loopback address, 0 for any that is free.

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


# A signal to end waits as long.
_LOOKS_EVERY_S = 1.0


class _Server(uvicorn.Server):
    """A server that lets more wait to be accepted than it accepts at a time.

    One without requests looks once a second whether it is to end, not ten times.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_QUEUED)

    async def main_loop(self) -> None:
        """Serve until told to end; the first of ten ticks is the one that renews the date."""
        while not await self.on_tick(0):
            await asyncio.sleep(_LOOKS_EVERY_S)


def server(app: ASGIApp, admission: Admission) -> uvicorn.Server:
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
