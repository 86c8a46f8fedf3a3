"""Streamable HTTP on the loopback address, for those who hold the token.

Other users of the machine can reach the port and so can pages in a browser: the token keeps out the
first, and the checks of Host and Origin the second, even where a name was made to point here.
"""

from __future__ import annotations

import hmac
import socket

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from irclient.errors import Unavailable
from irclient.mcp.tools import Tools

_ADDRESS = "127.0.0.1"
_NAMES = (_ADDRESS, "localhost")
# A stream that a client keeps open must not keep the process from stopping.
_GRACE_S = 2
_AT_ONCE = 64


class Guarded:
    """Let requests through to an application that carry the token."""

    def __init__(self, app: ASGIApp, token: str):
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the token."""
        if scope["type"] == "http":
            scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            known = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
            if scheme.lower() != "bearer" or not known:
                refused = PlainTextResponse(
                    "the bearer token is missing or wrong", 401, {"WWW-Authenticate": "Bearer"}
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)


def guarded_app(tools: Tools, port: int, token: str) -> ASGIApp:
    """Return the application at /mcp: without sessions, for requests to this port by name."""
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in _NAMES],
        allowed_origins=[f"http://{name}:{port}" for name in _NAMES],
    )
    app = tools.streamable_http_app(stateless_http=True, transport_security=security)
    return Guarded(app, token)


def bound(port: int) -> socket.socket:
    """Return a socket bound to a port of the loopback address, 0 for any that is free.

    Raises Unavailable where the port is taken.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((_ADDRESS, port))
    except (OSError, OverflowError) as error:
        made.close()
        said = f"cannot listen at {_ADDRESS}:{port}: {error}"
        raise Unavailable(said, "choose another --port") from error
    return made


def serve(tools: Tools, listener: socket.socket, token: str) -> None:
    """Answer until told to stop by a signal."""
    config = uvicorn.Config(
        guarded_app(tools, listener.getsockname()[1], token),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_AT_ONCE,
        timeout_graceful_shutdown=_GRACE_S,
    )
    uvicorn.Server(config).run(sockets=[listener])
