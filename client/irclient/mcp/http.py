"""Streamable HTTP on the loopback address, for clients that hold the token.

Other users of the machine can reach the port and so can pages in a browser: the token keeps out the
first, and the checks of Host and Origin the second, even where a name was made to point here. All
limits on how many are behind the token, so that a client without it cannot use them up.
"""

from __future__ import annotations

import hmac
import socket

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from irclient.mcp.listening import AUTHENTICATED, NAMES, Admission, make_http_server
from irclient.mcp.tools import Tools

_AT_ONCE = 64
_PATH = "/mcp"


class Guarded:
    """Pass requests with the token on to an application, a limited number at a time."""

    def __init__(self, app: ASGIApp, token: str, at_once: int = _AT_ONCE):
        self._app = app
        self._token = token.encode()
        self._free = at_once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 without the token, 405 to methods other than POST, 503 to excess requests."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._has_token(scope):
            message = "the bearer token is missing or wrong"
            refused = PlainTextResponse(message, 401, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
        else:
            scope.get("state", {}).get(AUTHENTICATED, lambda: None)()
            # A GET stream would take up a slot forever, and nothing is ever sent on it.
            if scope["method"] != "POST":
                refused = PlainTextResponse("only POST", 405, {"Allow": "POST"})
                await refused(scope, receive, send)
                return
            await self._pass_on(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        known = hmac.compare_digest(given.strip().encode("latin-1"), self._token)
        return scheme.lower() == "bearer" and known

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._free:
            await PlainTextResponse("too many requests at once", 503)(scope, receive, send)
            return
        self._free -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._free += 1


def make_guarded_app(tools: Tools, port: int, token: str) -> ASGIApp:
    """Return the application at /mcp, without sessions, for local names of this port only."""
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in NAMES],
        allowed_origins=[f"http://{name}:{port}" for name in NAMES],
    )
    app = tools.streamable_http_app(stateless_http=True, transport_security=security)
    return Guarded(app, token)


def serve(tools: Tools, listener: socket.socket, token: str, page: ASGIApp | None = None) -> None:
    """Serve until a signal; with `page`, also serve that, everywhere but at /mcp."""
    app = make_guarded_app(tools, listener.getsockname()[1], token)
    make_http_server(Beside(app, page) if page else app, Admission()).run(sockets=[listener])


class Beside:
    """Pass requests at /mcp on to one application, all others to the page beside it."""

    def __init__(self, app: ASGIApp, page: ASGIApp):
        self._app = app
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; startup and shutdown events go to the first application."""
        path = scope.get("path", "")
        mine = scope["type"] != "http" or path == _PATH or path.startswith(f"{_PATH}/")
        await (self._app if mine else self._page)(scope, receive, send)
