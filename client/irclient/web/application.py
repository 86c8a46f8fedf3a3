"""The application: a document and data for each view, the stream of events, and static files."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp

from irclient.async_client import AsyncClient
from irclient.errors import IRError
from irclient.invisible import shown
from irclient.mcp.listening import NAMES
from irclient.web.guard import TOKEN, PageGuard, checked_hosts
from irclient.web.shell import TITLES, document
from irclient.web.streams import EventStreams
from irclient.web.tokens import OneTimeTokens
from irclient.web.views import PATIENCE, VIEWS, ViewOf

_Endpoint = Callable[[Request], Awaitable[Response]]

# Where the page proves whose it is.
PROOF = "/proof"
_STATIC = os.path.join(os.path.dirname(__file__), "static")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# A diff has 400 lines at most.
_LONGEST, _LONGEST_DIFF = 500, 40_000
_STATUS = {"query": 400, "not_found": 404, "denied": 403, "limit": 413}


def web_app(
    endpoint: str, port: int, key: str, timeout: float = 10.0, host_names: Sequence[str] = ()
) -> ASGIApp:
    """Return the application for a port of the loopback address, asking the daemon at `endpoint`.

    `key` signs links (`link`) and cookies; `host_names` are others under which a tunnel or a proxy
    makes the port reachable. Raises QueryError for what is no host name.
    """
    streams = EventStreams(endpoint, timeout)
    tokens = OneTimeTokens(key, port, time.time())
    app = Starlette(
        routes=[
            Route("/", _first),
            Route(PROOF, _proof(tokens, endpoint)),
            Route("/events", streams.answer),
            Route("/events.json", streams.kept),
            Route("/static/{name}", _static),
            *(Route(f"/{name}", _drawn(name)) for name in TITLES),
            *(
                Route(f"/{name}.json", _data(ask, endpoint, max(timeout, PATIENCE.get(name, 0))))
                for name, ask in VIEWS.items()
            ),
        ]
    )
    hosts = (*(f"{name}:{port}" for name in NAMES), *checked_hosts(host_names, port))
    documents = frozenset(("/", PROOF, *(f"/{name}" for name in TITLES)))
    reused = partial(streams.publish, "link_reused", {})
    return PageGuard(app, tokens, hosts, documents, reused)


def link(port: int, key: str, host_names: Sequence[str] = ()) -> str:
    """Return an address, by the first of the names, that works once, within a minute."""
    host = (*checked_hosts(host_names[:1], port), f"{NAMES[0]}:{port}")[0]
    return f"http://{host}/?{TOKEN}={OneTimeTokens(key, port).link(time.time())}"


def _proof(tokens: OneTimeTokens, endpoint: str) -> _Endpoint:
    """Return what shows another `irc web` that the page is of its daemon, and a link was used."""

    async def proof(request: Request) -> Response:
        nonce, used = request.query_params.get("nonce", ""), request.query_params.get("link", "")
        if len(nonce) > _LONGEST:
            return PlainTextResponse("400: the nonce is too long", 400)
        shows = tokens.proof(endpoint, nonce)
        return JSONResponse({"proof": shows, "used": tokens.was_taken(used)})

    return proof


async def _first(request: Request) -> Response:
    return RedirectResponse("/now", 303)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _TYPES.get(os.path.splitext(name)[1])
    if kind is None or name not in os.listdir(_STATIC):
        return PlainTextResponse("404: there is no such file", 404)
    return FileResponse(os.path.join(_STATIC, name), media_type=kind)


def _drawn(view: str) -> _Endpoint:
    async def drawn(request: Request) -> Response:
        return HTMLResponse(document(view))

    return drawn


def _data(ask: ViewOf, endpoint: str, timeout: float) -> _Endpoint:
    """Return what answers with the data of a view, or with the error and what helps."""

    async def data(request: Request) -> Response:
        try:
            # A connection each: one made after a restart knows nothing of the daemon before it.
            async with AsyncClient(endpoint, timeout) as client:
                return _json(await ask(client, request.query_params))
        except IRError as error:
            about = {"code": error.code, "message": error.message, "hint": error.hint}
            return _json({"error": about}, _STATUS.get(error.code, 503))

    return data


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return JSONResponse(shown(_shortened(value)), status)


def _shortened(value: Any, most: int = _LONGEST) -> Any:
    """Return plain data with texts cut that no page has room for."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, Mapping):
        return {
            _shortened(key): _shortened(each, _LONGEST_DIFF if key == "diff" else most)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_shortened(each, most) for each in value]
    return value
