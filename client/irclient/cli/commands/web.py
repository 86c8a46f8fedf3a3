"""`irc web`: serve the page, and open it in a browser."""

from __future__ import annotations

import argparse
import socket
import webbrowser

from irclient.client import Client
from irclient.errors import Unavailable
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import note, print_line
from irclient.web import PORT, key_path, require_web

HELP = "show what is indexed, and why, in a browser"
ABOUT = """
Serve a page on this machine's loopback address, and open it in a browser: what
is indexed and how fresh it is, a query with the explanation of its answer, what
was offered and used, what is missed, and what is wrong. Nothing on it changes
anything. The link works once, within a minute; where the page is served
already, a new link to it is made. Needs the extra irclient[web].
"""
EXAMPLES = """
# on http://127.0.0.1:7412
irc web

# on a machine without a browser; open it through ssh -L 7412:127.0.0.1:7412
irc web --print-url

# through ssh -L 9000:127.0.0.1:7412
irc web --print-url --host-name localhost:9000
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where to serve, and whether to open a browser."""
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"the port ({PORT}; 0: any)"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--print-url", action="store_true", help="print the link instead of opening a browser"
    )
    shown.add_argument(
        "--no-link", action="store_true", help="only serve, for another irc web to open"
    )

    parser.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="answer under this name, too: of a tunnel (localhost:9000) or a proxy; repeatable",
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Serve until interrupted; where this port has the page already, only make a link to it."""
    require_web()
    from irclient.mcp.listening import bound
    from irclient.web.application import link, web_app
    from irclient.web.secret_file import kept_token
    from irclient.web.serving import serve

    key = kept_token(key_path())
    try:
        listener = bound(options.port)
    except Unavailable:
        if options.no_link or not _serves(options.port):
            raise
        _show(link(options.port, key, options.host_name), options.print_url)
        return COMMITTED
    with listener:
        port = listener.getsockname()[1]
        # Before the link: it takes none that is older than itself.
        app = web_app(client.endpoint, port, key, client.timeout, options.host_name)
        listener.listen()
        note(f"irc: the page is at http://127.0.0.1:{port}, until Ctrl-C")
        if not options.no_link:
            _show(link(port, key, options.host_name), options.print_url)
        serve(app, listener)
    return COMMITTED


def _serves(port: int) -> bool:
    """Say whether what listens at a port is the page: it names what it wants of a browser."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as asking:
            asking.sendall(f"GET /now HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            with asking.makefile("rb") as answer:
                return b"run irc web" in answer.read(4_096)
    except OSError:
        return False


def _show(url: str, only_print: bool) -> None:
    if only_print or not webbrowser.open(url):
        print_line(url)
