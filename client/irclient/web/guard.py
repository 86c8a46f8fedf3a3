"""What every request has to pass: Host, method, origin, and the cookie.

Other users of the machine can reach the port, and so can pages in a browser: the cookie keeps out
the first, and the checks of Host, Origin and Sec-Fetch-Site the second, pages from other ports of
this machine included, to which a browser would send the cookie as well.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
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
    `stolen` is called where a link is used again.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: OneTimeTokens,
        hosts: tuple[str, ...],
        stolen: Callable[[], None],
    ):
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._origins = {f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")}
        self._cookie = f"irdaemon_{hosts[0].rpartition(':')[2]}"
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
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return PlainTextResponse("a page from elsewhere may not ask", 403)
        return None

    def _let_in(self, scope: Scope) -> Response | None:
        """Return None for a request that may go on, else what it is answered."""
        if token := QueryParams(scope["query_string"]).get(TOKEN, ""):
            return self._exchanged(token, scope["path"])
        if not self._tokens.knows(self._cookie_of(scope), time.time()):
            return PlainTextResponse(f"401: this browser was not let in: {_ASK_ANEW}", 401)
        scope.get("state", {}).get(AUTHENTICATED, lambda: None)()
        return None

    def _exchanged(self, token: str, path: str) -> Response:
        now = time.time()
        if self._tokens.take(token, now):
            answer = RedirectResponse("/now", 303)
            value = self._tokens.cookie(now)
            answer.set_cookie(self._cookie, value, path="/", httponly=True, samesite="strict")
            return answer
        if self._tokens.was_taken(token):
            self._stolen()
        return PlainTextResponse(f"403: this link was used, or is too old: {_ASK_ANEW}", 403)

    def _cookie_of(self, scope: Scope) -> str:
        try:
            sent = SimpleCookie(Headers(scope=scope).get("cookie", ""))
        except CookieError:
            return ""
        return sent[self._cookie].value if self._cookie in sent else ""


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sent
