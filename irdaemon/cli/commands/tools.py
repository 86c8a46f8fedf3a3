"""`irdaemon tools`: list the configured MCP servers, or keep the tools of some."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.output import parse_seconds

HELP = "list configured MCP servers, or index their tools"
ABOUT = """
List the MCP servers that coding agents on this machine are set up with. If some
are named, ask them for their tools and keep the answers, so that the tools are
indexed; a server with a command is started for that.
"""
EXAMPLES = """
# which servers are configured?
irdaemon tools

# ask one of them
irdaemon tools github

# one of a project's own
irdaemon tools --file .mcp.json database
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which servers to ask, where they are configured, and for how long."""
    parser.add_argument(
        "servers", nargs="*", metavar="SERVER", help="ask this server for its tools"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="read servers from this file alone, such as a project's .mcp.json; may be repeated",
    )
    parser.add_argument(
        "--timeout",
        type=parse_seconds,
        default=20.0,
        metavar="S",
        help="wait S seconds for each (20)",
    )


def run(options: argparse.Namespace) -> int:
    """List the servers, or keep the tools of those named."""
    from irdaemon.cli import tool_servers

    return DONE if tool_servers.run(options.servers, options.file, options.timeout) else UNHEALTHY
