"""`irc mcp`: serve MCP clients over stdin and stdout."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.mcp import PROFILES, require_sdk
from irclient.terminal.exits import COMMITTED

HELP = "serve MCP clients over stdin and stdout"
ABOUT = """
Serve clients of the Model Context Protocol over stdin and stdout: two tools,
discover and disclose, and items as resources. Needs the extra irclient[mcp].
"""
EXAMPLES = """
# let Claude Code start it
claude mcp add --scope user irdaemon -- irc mcp

# with tools to search and read documents
irc mcp --profile library
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which tools to offer."""
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="discover",
        metavar="PROFILE",
        help="discover: the tools discover and disclose; library: also tools to search and read"
        " documents (discover)",
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Serve until stdin ends. The daemon is asked when the first call comes, not before."""
    require_sdk()
    from irclient.mcp.daemon import DaemonCaller
    from irclient.mcp.server import make_server, serve

    serve(make_server(options.profile, DaemonCaller(client.endpoint, client.timeout)))
    return COMMITTED
