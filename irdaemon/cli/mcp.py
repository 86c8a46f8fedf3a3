"""`irdaemon mcp`: serve MCP clients, over HTTP or stdio, in a process beside the daemon."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from irclient.errors import QueryError
from irclient.mcp import PROFILES, require_sdk
from irclient.places import find_here, socket_path
from irclient.terminal.exits import DONE
from irclient.terminal.help import PORT_NUMBER, add_repeated, argument, command, flag
from irclient.terminal.output import note
from irclient.web import find_key_path, keep_token, require_web
from irdaemon.config.config import state_dir

if TYPE_CHECKING:
    from irclient.mcp.tools import Tools


_PORT = 7411
_TIMEOUT_S = 10.0


@command(
    flag("--http", "serve over streamable HTTP, on this machine only (stdio)"),
    flag("--web", "with --http: also serve the page of `irc web`"),
    add_repeated(
        "--host-name NAME[:PORT]", "with --web: also answer under this name of a tunnel or a proxy"
    ),
    argument("--port N", f"the port for HTTP ({_PORT}; 0: any)", type=PORT_NUMBER, default=_PORT),
    argument(
        "--profile PROFILE",
        f"which tools: {', '.join(PROFILES)} (discover)",
        choices=PROFILES,
        default="discover",
    ),
)
def serve_mcp(options: argparse.Namespace) -> int:
    """Serve MCP clients over HTTP or stdio.

    Serve clients of the Model Context Protocol in a process beside the daemon: over
    streamable HTTP on this machine's loopback address, with a token, or over stdio
    as `irc mcp` does. Needs the extra irdaemon[mcp].

    examples:
    # on http://127.0.0.1:7411/mcp; the token's file is printed
    irdaemon mcp --http

    # with the page of `irc web` at the same port
    irdaemon mcp --http --web
    """
    if options.host_name and not options.web:
        raise QueryError(
            "--host-name is about the page", "irdaemon mcp --http --web --host-name NAME"
        )
    if options.web and not options.http:
        raise QueryError("--web is served over HTTP", "irdaemon mcp --http --web")
    require_sdk()
    from irclient.mcp import server
    from irclient.mcp.daemon import DaemonCaller
    from irclient.mcp.server import make_server

    # Over HTTP there are many clients, at unknown places.
    place = "" if options.http else find_here()
    tools = make_server(options.profile, DaemonCaller(socket_path(), _TIMEOUT_S, place))
    if options.http:
        _serve_http(tools, options)
    else:
        server.serve(tools)
    return DONE


def _serve_http(tools: Tools, options: argparse.Namespace) -> None:
    from irclient.mcp import http
    from irclient.mcp.listening import bind_port

    path = os.path.join(state_dir(), "mcp-token")
    token = keep_token(path)
    with bind_port(options.port) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        note(f"irdaemon: MCP at http://127.0.0.1:{port}/mcp, token in {path}")
        if not options.web:
            http.serve(tools, listener, token)
            return
        require_web()
        from irclient.web.application import make_link, make_web_app

        key, names = keep_token(find_key_path()), options.host_name
        page = make_web_app(socket_path(), port, key, _TIMEOUT_S, names)
        note(f"irdaemon: the page at {make_link(port, key, names)}")
        note(f"          the link works once, for a minute; a new one: irc web --port {port}")
        http.serve(tools, listener, token, page)
