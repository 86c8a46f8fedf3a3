"""`irdaemon mcp`: serve MCP clients, over HTTP or stdio, in a process beside the daemon."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from irclient.mcp import PROFILES, require_sdk
from irclient.places import socket_path
from irclient.terminal.exits import DONE
from irclient.terminal.output import note
from irclient.web.secret_file import kept_token
from irdaemon.config.config import state_dir

if TYPE_CHECKING:
    from irclient.mcp.tools import Tools

HELP = "serve MCP clients over HTTP or stdio"
ABOUT = """
Serve clients of the Model Context Protocol in a process beside the daemon: over
streamable HTTP on this machine's loopback address, with a token, or over stdio
as `irc mcp` does. Needs the extra irdaemon[mcp].
"""
EXAMPLES = """
# on http://127.0.0.1:7411/mcp; the token's file is printed
irdaemon mcp --http
"""

_PORT = 7411
_TIMEOUT_S = 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the transport, and which tools."""
    parser.add_argument(
        "--http",
        action="store_true",
        help="serve over streamable HTTP, on this machine only (stdio)",
    )
    parser.add_argument(
        "--port", type=int, default=_PORT, metavar="N", help=f"the port for HTTP ({_PORT}; 0: any)"
    )
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="discover",
        metavar="PROFILE",
        help=f"which tools: {', '.join(PROFILES)} (discover)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until stdin ends, or over HTTP until stopped."""
    require_sdk()
    from irclient.mcp import stdio
    from irclient.mcp.daemon import DaemonCaller
    from irclient.mcp.server import make_server

    tools = make_server(options.profile, DaemonCaller(socket_path(), _TIMEOUT_S))
    if options.http:
        _serve_http(tools, options.port)
    else:
        stdio.serve(tools)
    return DONE


def _serve_http(tools: Tools, port: int) -> None:
    from irclient.mcp import http
    from irclient.mcp.listening import bound

    path = os.path.join(state_dir(), "mcp-token")
    token = kept_token(path)
    with bound(port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        note(f"irdaemon: MCP at {url}, token in {path}")
        http.serve(tools, listener, token)
