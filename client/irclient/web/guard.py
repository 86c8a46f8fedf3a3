"""What every request has to pass: Host, method, origin, and the cookie.

Other users of the machine can reach the port, and so can pages in a browser: the cookie keeps out
the first, and the checks of Host, Origin and Sec-Fetch-Site the second, pages from other ports of
this machine included. Cookies know no ports: a browser would send one to whatever it visits at this
address. So it belongs to a path that no one can guess; the page asks for its data below it, and
keeps it in the storage of its own origin, which does know the port.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from irclient.errors import QueryError
from irclient.mcp.connections import AUTHENTICATED
from irclient.web.tokens import OneTimeTokens

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


def checked_hosts(names: Sequence[str], port: int) -> tuple[str, ...]:
    """Return the values of Host that a browser sends for names under which a port is reached.

    A name without a port is that of the port itself, or of a proxy at a usual one. Raises
    QueryError for what is no NAME or NAME:PORT.
    """
    found: list[str] = []
    for name in map(str.lower, names):
        if not _HOST.fullmatch(name):
            raise QueryError(f"{name!r:.80} is no host name", "--host-name NAME, or NAME:PORT")
        found += [name] if ":" in name else [name, f"{name}:{port}"]
    return tuple(found)


class PageGuard:
    """Pass requests of a browser that was let in on to an application, and add safe headers.

    `hosts` are the values of Host that are answered, the first with the port that names the cookie.
    `open_paths` need no cookie, as nothing of the daemon's is there, nor do static files. `stolen`
    is called where a link is used again.
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
        """Answer 403 to a foreign page, 405 to what is no GET, 401 without the cookie."""
        if scope["type"] != "http":
            return
        answer = self._refused(scope) or self._let_in(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse(_WRONG_HOST, 403)
        if scope["method"] != "GET":
            return PlainTextResponse("only GET", 405, {"Allow": "GET"})
        if headers.get("origin") not in (None, *self._origins):
            return PlainTextResponse("a page from elsewhere may not ask", 403)
        foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        # The file that a browser is opened with is of no site; who knows a link may follow it.
        follows = _token(scope) and headers.get("sec-fetch-dest") == "document"
        if foreign and not follows:
            return PlainTextResponse("a page from elsewhere may not ask", 403)
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """Return None for a request that may go on, else what it is answered."""
        if token := _token(scope):
            return self._exchanged(token)
        path = scope["path"]
        if path in self._open or path.startswith("/static/"):
            return None
        if not self._has_cookie(scope):
            return PlainTextResponse(f"401: this browser was not let in: {_ASK_ANEW}", 401)
        scope.get("state", {}).get(AUTHENTICATED, lambda: None)()
        if path.startswith(f"{self._tokens.path}/"):
            scope["path"] = path.removeprefix(self._tokens.path)
        return None

    def _exchanged(self, token: str) -> Response:
        now = time.time()
        if self._tokens.take(token, now):
            path = self._tokens.path
            answer = HTMLResponse(_ENTRANCE.format(path=path))
            value = self._tokens.cookie(now)
            answer.set_cookie(self._cookie, value, path=path, httponly=True, samesite="strict")
            return answer
        if self._tokens.was_taken(token):
            self._stolen()
        return PlainTextResponse(f"403: this link was used, or is too old: {_ASK_ANEW}", 403)

    def _has_cookie(self, scope: Scope) -> bool:
        """Say whether the cookie is among those sent; other programs' are of any form and name."""
        sent = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
        pairs = (each.strip().partition("=") for each in sent)
        now = time.time()
        return any(
            name == self._cookie and self._tokens.knows(value, now) for name, _, value in pairs
        )


def _token(scope: Scope) -> str:
    return QueryParams(scope["query_string"]).get(TOKEN, "")


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sent
