"""`irc web`: serve the page, and open it in a browser."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from irclient.client import Client
from irclient.errors import Unavailable
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import PORT_NUMBER, add_exclusive, add_repeated, argument, command, flag
from irclient.terminal.output import note, print_line
from irclient.web import PORT, find_key_path, require_web

_ASKS_S, _LOOKS_EVERY_S = 2.0, 0.25
# The link itself must not be an argument of the browser: every user can read those.
_FILE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={link}">
<title>irdaemon</title>
<a href="{link}">Open the page</a>
"""


@command(
    argument("--port N", f"the port ({PORT}; 0: any)", type=PORT_NUMBER),
    add_exclusive(
        flag("--print-url", "print the link instead of opening a browser"),
        flag("--no-link", "only serve, for another irc web to open"),
    ),
    add_repeated(
        "--host-name NAME[:PORT]",
        "answer under this name, too: of a tunnel (localhost:9000) or a proxy; repeatable",
    ),
)
def serve_page(client: Client, options: argparse.Namespace) -> int:
    """Show what is indexed, and why, in a browser.

    Serve a page on this machine's loopback address, and open it in a browser: what
    is indexed and how fresh it is, a query with the explanation of its answer, what
    was offered and used, what is missed, and what is wrong. The page cannot change
    anything. The link works once, within a minute; if the page is already served,
    a new link to it is made. The browser gets it in a file that only you can read.
    If something else uses the usual port, another is taken. Needs the extra
    irclient[web].

    examples:
    # on http://127.0.0.1:7412
    irc web

    # on a machine without a browser; open it through ssh -L 7412:127.0.0.1:7412
    irc web --print-url

    # through ssh -L 9000:127.0.0.1:7412
    irc web --print-url --host-name localhost:9000
    """
    require_web()
    from irclient.web import keep_token

    key = keep_token(find_key_path())
    page = _ServedPage(PORT if options.port is None else options.port, client.endpoint, key)
    if listener := _make_listener(page, options):
        with listener:
            _serve(listener, client, key, options)
    elif options.print_url:
        print_line(page.link(options))
    else:
        url = page.link(options)
        with _write_page_file(url) as path:
            _open(path, url, page)
    return COMMITTED


@dataclass(frozen=True, slots=True)
class _ServedPage:
    """The port of a page, its daemon's endpoint, and the key that signs its links."""

    port: int
    endpoint: str
    key: str

    def link(self, options: argparse.Namespace) -> str:
        """Return a link to the page there."""
        from irclient.web.application import make_link

        return make_link(self.port, self.key, options.host_name)

    def serves_ours(self) -> bool:
        """Return whether this daemon's page listens there: it can sign with the key."""
        from irclient.web.application import OneTimeTokens

        nonce = secrets.token_urlsafe(16)
        proof = OneTimeTokens(self.key, self.port).make_proof(self.endpoint, nonce)
        return proof.encode() in self._ask_proof(f"nonce={nonce}")

    def has_taken(self, link: str) -> bool:
        """Return whether our page was opened with a link."""
        return b'"used":true' in self._ask_proof(f"link={link.rpartition('=')[2]}")

    def _ask_proof(self, question: str) -> bytes:
        from irclient.web.application import PROOF

        ends, got = time.monotonic() + _ASKS_S, b""
        head = f"GET {PROOF}?{question} HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\n\r\n"
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=_ASKS_S) as asking,
        ):
            asking.sendall(head.encode())
            while len(got) < 4_096 and (left := ends - time.monotonic()) > 0:
                asking.settimeout(left)
                if not (piece := asking.recv(4_096)):
                    break
                got += piece
        return got


def _make_listener(page: _ServedPage, options: argparse.Namespace) -> socket.socket | None:
    """Return a socket for serving the page, None if this daemon's page is already served.

    Raises Unavailable if something else uses the requested port.
    """
    from irclient.mcp.listening import bind_port

    try:
        return bind_port(page.port)
    except Unavailable as error:
        if options.no_link:
            raise
        if page.serves_ours():
            return None
        if options.port is not None:
            message = f"{error.message}; what listens there is not this daemon's page"
            raise Unavailable(message, error.hint) from error
    note(f"irc: what listens at port {PORT} is not this daemon's page; another port is taken")
    return bind_port(0)


def _serve(listener: socket.socket, client: Client, key: str, options: argparse.Namespace) -> None:
    from irclient.web.application import make_web_app, serve

    page = _ServedPage(listener.getsockname()[1], client.endpoint, key)
    # Made before the link, since the page accepts none older than itself.
    app = make_web_app(client.endpoint, page.port, key, client.timeout, options.host_name)
    listener.listen()
    note(f"irc: the page is at http://127.0.0.1:{page.port}, until Ctrl-C")
    url = page.link(options)
    if options.print_url:
        print_line(url)
    if options.print_url or options.no_link:
        serve(app, listener)
        return
    with _write_page_file(url) as path:
        # A browser in this terminal blocks until it is quit, and needs the page until then.
        threading.Thread(target=_open, args=(path, url, page), daemon=True).start()
        serve(app, listener)


@contextlib.contextmanager
def _write_page_file(url: str) -> Iterator[str]:
    """Yield the path of a page that redirects to a link and that only this user can read."""
    # A browser from a snap reads no hidden files, and none outside of the home directory.
    home = os.path.expanduser("~")
    confined = os.path.isdir(os.path.join(home, "snap"))
    folder = home if confined else os.path.dirname(find_key_path())
    descriptor, path = tempfile.mkstemp(".html", "irdaemon-page-", folder)  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(_FILE.format(link=escape(url)))
        yield path
    finally:
        _remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _open(path: str, url: str, page: _ServedPage) -> None:
    """Open the file in a browser, and remove it once the link was followed or has expired."""
    from irclient.web.application import VALID_S

    ends = time.monotonic() + VALID_S
    if not webbrowser.open(Path(path).as_uri()):
        print_line(url)
        return
    note("irc: the page was opened in a browser; if it cannot read the file: irc web --print-url")
    while time.monotonic() < ends and not page.has_taken(url):
        time.sleep(_LOOKS_EVERY_S)
    _remove(path)
