"""The application: a document and data for each view, the stream of events, and static files."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import re
import secrets
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any
from weakref import WeakSet

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders, QueryParams
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
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from irclient import __version__
from irclient.async_client import AsyncClient
from irclient.errors import IRError, QueryError
from irclient.invisible import make_safe
from irclient.mcp.listening import AUTHENTICATED, NAMES, Admission, make_http_server
from irclient.web.views import PATIENCE, VIEWS, ViewOf

# Serve the page on its own, until a signal ends it.


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve an application until a signal ends it."""
    make_http_server(app, Admission()).run(sockets=[listener])


# Who may see the page: a one-time link, and the cookie and path that replace it.
#
# Links are signed with a key in a private file, so that another process of this user (`irc web`, if
# the page is already served) can make one; with the same key the page proves whose it is. Cookies
# are signed with a key that is in no file and ends with the process: a program that takes over the
# port later receives nothing it could use. The time is an argument, in Unix seconds.

VALID_S = 60.0
# A cookie ends with the browser and with the process; a copied one ends after this time.
_COOKIE_S = 7 * 86_400.0


class OneTimeTokens:
    """Make and check tokens signed with one key; a link's token works once, at its own port.

    A token made before `since` is refused, since uses before a restart are not remembered. `path`
    is the secret path below which a browser sends the cookie.
    """

    def __init__(self, key: str, port: int = 0, since: float = 0.0):
        self._key = key.encode()
        self._own_key = secrets.token_bytes(32)
        self.path = f"/{secrets.token_urlsafe(24)}"
        self._port = port
        self._link = f"link {port}"
        self._since = int(since)
        self._taken: dict[str, float] = {}

    def make_link(self, now: float) -> str:
        """Return a token for a link, valid for a minute."""
        return self._sign(self._key, self._link, now + VALID_S)

    def make_cookie(self, now: float) -> str:
        """Return the value of a cookie."""
        return self._sign(self._own_key, "cookie", now + _COOKIE_S)

    def accepts_cookie(self, cookie: str, now: float) -> bool:
        """Return whether this process made a cookie that has not expired."""
        return self._read_end(self._own_key, "cookie", cookie) > now

    def make_proof(self, endpoint: str, nonce: str) -> str:
        """Return proof, for a nonce, that a page at this port belongs to a daemon and a key."""
        return _sign(self._key, f"page {self._port} {endpoint}", nonce)

    def is_taken(self, token: str) -> bool:
        """Return whether a link was used within the last minute."""
        return token in self._taken

    def take(self, token: str, now: float) -> bool:
        """Take a link's token: return True for a valid one, the first time."""
        ends = self._read_end(self._key, self._link, token)
        self._taken = {each: until for each, until in self._taken.items() if until > now}
        if ends <= now or ends - VALID_S < self._since or token in self._taken:
            return False
        self._taken[token] = ends
        return True

    @staticmethod
    def _sign(key: bytes, use: str, ends: float) -> str:
        told = f"{int(ends)}.{secrets.token_urlsafe(16)}"
        return f"{told}.{_sign(key, use, told)}"

    @staticmethod
    def _read_end(key: bytes, use: str, token: str) -> float:
        """Return when a token expires, 0 for one that was not signed here."""
        told, _, signature = token.rpartition(".")
        expected = _sign(key, use, told)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return 0.0
        return float(told.partition(".")[0])


def _sign(key: bytes, use: str, told: str) -> str:
    return hmac.new(key, f"{use}:{told}".encode(), "sha256").hexdigest()


# The daemon's events, sent to every open stream of the page through one subscription.
#
# A browser opens one stream for all its tabs; beyond the limit a tab polls. A slow reader loses its
# oldest waiting events: it asks for what it shows anyway.

_MOST = 64
_WAITING = 64
_KEPT = 50
_AGAIN_S = 1.0


class EventStreams:
    """Pass the daemon's events to a limited number of streams, and keep the newest events."""

    def __init__(self, endpoint: str, timeout: float, most: int = _MOST):
        self._endpoint = endpoint
        self._timeout = timeout
        self._most = most
        # Weak: if a reader leaves before its first event, its stream goes with the response.
        self._open: WeakSet[asyncio.Queue[dict[str, Any]]] = WeakSet()
        self._newest: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._reading: asyncio.Task[None] | None = None

    async def list_kept(self, request: Request) -> Response:
        """Answer with the last events, the newest first."""
        self._start()
        return JSONResponse(list(reversed(self._newest)))

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        """Pass an event to every stream, from their event loop."""
        event = make_safe({"event": topic, "at": time.time(), **data})
        self._newest.append(event)
        for waiting in self._open:
            if waiting.full():
                waiting.get_nowait()
            waiting.put_nowait(event)

    async def answer(self, request: Request) -> Response:
        """Answer with a stream of events, or 503 if too many are open."""
        self._start()
        if len(self._open) >= self._most:
            return PlainTextResponse("too many streams are open", 503, {"Retry-After": "5"})
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_WAITING)
        self._open.add(waiting)  # counted here, not when first read: many may open at once
        return EventSourceResponse(self._stream_events(waiting), ping=15)

    async def _stream_events(self, waiting: asyncio.Queue[dict[str, Any]]) -> AsyncIterator[str]:
        try:
            while True:
                yield json.dumps(await waiting.get())
        finally:
            self._open.discard(waiting)

    def _start(self) -> None:
        """Start listening to the daemon, for as long as the event loop runs."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        while True:
            with contextlib.suppress(IRError, OSError):
                async with AsyncClient(self._endpoint, self._timeout) as client:
                    async for topic, data in client.events():
                        self.publish(topic, data)
            await asyncio.sleep(_AGAIN_S)


# The document that all views share; the script fills it.

TITLES = {"now": "Now", "try": "Try", "use": "Use", "gaps": "Gaps", "trouble": "Trouble"}

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · irdaemon</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/page.css">
<script type="module" src="/static/page.js"></script>
</head>
<body data-view="{view}">
<a class="skip" href="#view">Skip to the view</a>
<header>
<b class="brand">irdaemon</b>
<nav aria-label="Views">{links}</nav>
<span id="state" class="pill" role="status">connecting</span>
</header>
<p id="notice" role="alert" hidden></p>
<main id="view" tabindex="-1"><h1 class="sr">{title}</h1>\
<noscript><p>This page draws with scripts from this address only: allow them, or run \
<code>irc status --json</code>.</p></noscript></main>
<footer><span>irc {version}</span> \
<button type="button" class="link" id="data">data of this view</button> \
<span class="keys"><kbd>/</kbd> ask <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>Enter</kbd> open</span>\
</footer>
</body>
</html>
"""


def make_document(view: str) -> str:
    """Return the HTML of a view, without any data of the daemon's."""
    links = "".join(_make_link(name, title, name == view) for name, title in TITLES.items())
    return _DOCUMENT.format(
        title=escape(TITLES[view]), view=escape(view), links=links, version=escape(__version__)
    )


def _make_link(name: str, title: str, here: bool) -> str:
    current = ' aria-current="page"' if here else ""
    return f'<a href="/{escape(name)}"{current}>{escape(title)}</a>'


# What every request must pass: Host, method, origin and cookie.
#
# Other users of the machine can reach the port, and so can pages in a browser. The cookie keeps out
# the former; the checks of Host, Origin and Sec-Fetch-Site the latter, including pages from other
# ports of this machine. Cookies ignore ports: a browser sends one to every server at this address.
# So the cookie belongs to an unguessable path; the page asks for its data below that path and keeps
# it in its origin's storage, which does depend on the port.

TOKEN = "token"
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_WRONG_HOST = (
    "403: the page is not served under this name; behind a tunnel or a proxy:"
    " irc web --host-name NAME[:PORT]"
)
_ASK_ANEW = "run irc web (or irc web --print-url) and open the link it gives"
_ENTRANCE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>irdaemon</title>
<script type="module" src="/static/enter.js"></script>
</head>
<body data-path="{path}"><p>The page needs scripts and the storage of this address.</p></body>
</html>
"""


def check_hosts(names: Sequence[str], port: int) -> tuple[str, ...]:
    """Return the Host values that a browser sends for names under which a port is reached.

    A name without a port means the port itself, or a proxy at a usual one. Raises QueryError for
    anything but NAME or NAME:PORT.
    """
    found: list[str] = []
    for name in map(str.lower, names):
        if not _HOST.fullmatch(name):
            raise QueryError(f"{name!r:.80} is not a host name", "--host-name NAME, or NAME:PORT")
        found += [name] if ":" in name else [name, f"{name}:{port}"]
    return tuple(found)


class PageGuard:
    """Pass on the requests of an admitted browser, and add safe headers.

    `hosts` are the accepted Host values; the first one's port names the cookie. `open_paths` and
    static files need no cookie, since they contain no data of the daemon's. `stolen` is called when
    a link is used again.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: OneTimeTokens,
        hosts: tuple[str, ...],
        open_paths: frozenset[str],
        stolen: Callable[[], None],
    ):
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._origins = {f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")}
        self._cookie = f"irdaemon_{hosts[0].rpartition(':')[2]}"
        self._open = open_paths
        self._stolen = stolen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to a foreign page, 405 to methods other than GET, 401 without the cookie."""
        if scope["type"] != "http":
            return
        answer = self._refuse(scope) or self._admit(scope)
        await (answer or self._app)(scope, receive, _add_headers(send))

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse(_WRONG_HOST, 403)
        if scope["method"] != "GET":
            return PlainTextResponse("only GET", 405, {"Allow": "GET"})
        if headers.get("origin") not in (None, *self._origins):
            return PlainTextResponse("requests from other pages are refused", 403)
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        # The file that opens the browser belongs to no site; anyone who knows a link may follow it.
        follows = _read_token(scope) and headers.get("sec-fetch-dest") == "document"
        if foreign and not follows:
            return PlainTextResponse("requests from other pages are refused", 403)
        return None

    def _admit(self, scope: Scope) -> Response | None:
        """Return None for a request that may proceed, else the refusal."""
        if token := _read_token(scope):
            return self._exchange_token(token)
        path = scope["path"]
        if path in self._open or path.startswith("/static/"):
            return None
        if not self._has_cookie(scope):
            return PlainTextResponse(f"401: this browser is not admitted: {_ASK_ANEW}", 401)
        scope.get("state", {}).get(AUTHENTICATED, lambda: None)()
        if path.startswith(f"{self._tokens.path}/"):
            scope["path"] = path.removeprefix(self._tokens.path)
        return None

    def _exchange_token(self, token: str) -> Response:
        now = time.time()
        if self._tokens.take(token, now):
            path = self._tokens.path
            answer = HTMLResponse(_ENTRANCE.format(path=path))
            value = self._tokens.make_cookie(now)
            answer.set_cookie(self._cookie, value, path=path, httponly=True, samesite="strict")
            return answer
        if self._tokens.is_taken(token):
            self._stolen()
        return PlainTextResponse(f"403: this link was used already or is too old: {_ASK_ANEW}", 403)

    def _has_cookie(self, scope: Scope) -> bool:
        """Return whether the cookie was sent; other programs' cookies have any form and name."""
        sent = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
        pairs = (each.strip().partition("=") for each in sent)
        now = time.time()
        return any(
            name == self._cookie and self._tokens.accepts_cookie(value, now)
            for name, _, value in pairs
        )


def _read_token(scope: Scope) -> str:
    return QueryParams(scope["query_string"]).get(TOKEN, "")


def _add_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sent


_Endpoint = Callable[[Request], Awaitable[Response]]

# The path at which the page proves whose it is.
PROOF = "/proof"
_STATIC = os.path.join(os.path.dirname(__file__), "static")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# A diff has 400 lines at most.
_LONGEST, _LONGEST_DIFF = 500, 40_000
_STATUS = {"query": 400, "not_found": 404, "denied": 403, "limit": 413}


def make_web_app(
    endpoint: str, port: int, key: str, timeout: float = 10.0, host_names: Sequence[str] = ()
) -> ASGIApp:
    """Return the application for a port of the loopback address, asking the daemon at `endpoint`.

    `key` signs links (`make_link`) and cookies; `host_names` are further names under which a tunnel
    or a proxy makes the port reachable. Raises QueryError for an invalid host name.
    """
    streams = EventStreams(endpoint, timeout)
    tokens = OneTimeTokens(key, port, time.time())
    app = Starlette(
        routes=[
            Route("/", _redirect_first),
            Route(PROOF, _answer_proof(tokens, endpoint)),
            Route("/events", streams.answer),
            Route("/events.json", streams.list_kept),
            Route("/static/{name}", _answer_static),
            *(Route(f"/{name}", _answer_document(name)) for name in TITLES),
            *(
                Route(
                    f"/{name}.json",
                    _answer_data(ask, endpoint, max(timeout, PATIENCE.get(name, 0))),
                )
                for name, ask in VIEWS.items()
            ),
        ]
    )
    hosts = (*(f"{name}:{port}" for name in NAMES), *check_hosts(host_names, port))
    documents = frozenset(("/", PROOF, *(f"/{name}" for name in TITLES)))
    reused = partial(streams.publish, "link_reused", {})
    return PageGuard(app, tokens, hosts, documents, reused)


def make_link(port: int, key: str, host_names: Sequence[str] = ()) -> str:
    """Return an address, by the first of the names, that works once, within a minute."""
    host = (*check_hosts(host_names[:1], port), f"{NAMES[0]}:{port}")[0]
    return f"http://{host}/?{TOKEN}={OneTimeTokens(key, port).make_link(time.time())}"


def _answer_proof(tokens: OneTimeTokens, endpoint: str) -> _Endpoint:
    """Prove to another `irc web` that the page is its daemon's and that a link was used."""

    async def prove(request: Request) -> Response:
        nonce, used = request.query_params.get("nonce", ""), request.query_params.get("link", "")
        if len(nonce) > _LONGEST:
            return PlainTextResponse("400: the nonce is too long", 400)
        shows = tokens.make_proof(endpoint, nonce)
        return JSONResponse({"proof": shows, "used": tokens.is_taken(used)})

    return prove


async def _redirect_first(request: Request) -> Response:
    return RedirectResponse("/now", 303)


async def _answer_static(request: Request) -> Response:
    name = request.path_params["name"]
    kind = _TYPES.get(os.path.splitext(name)[1])
    if kind is None or name not in os.listdir(_STATIC):
        return PlainTextResponse("404: no such file", 404)
    return FileResponse(os.path.join(_STATIC, name), media_type=kind)


def _answer_document(view: str) -> _Endpoint:
    async def drawn(request: Request) -> Response:
        return HTMLResponse(make_document(view))

    return drawn


def _answer_data(ask: ViewOf, endpoint: str, timeout: float) -> _Endpoint:
    """Return the handler that answers with a view's data, or with an error and a hint."""

    async def data(request: Request) -> Response:
        try:
            # One connection per request: one made after a restart knows nothing of the previous
            # daemon.
            async with AsyncClient(endpoint, timeout) as client:
                return _make_json(await ask(client, request.query_params))
        except IRError as error:
            about = {"code": error.code, "message": error.message, "hint": error.hint}
            return _make_json({"error": about}, _STATUS.get(error.code, 503))

    return data


def _make_json(value: Mapping[str, Any], status: int = 200) -> Response:
    return JSONResponse(make_safe(_shorten(value)), status)


def _shorten(value: Any, most: int = _LONGEST) -> Any:
    """Return plain data with long texts cut."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, Mapping):
        return {
            _shorten(key): _shorten(each, _LONGEST_DIFF if key == "diff" else most)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_shorten(each, most) for each in value]
    return value
