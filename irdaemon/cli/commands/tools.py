"""`irdaemon tools`: list the configured MCP servers, or ask those named for their tools."""

from __future__ import annotations

import argparse

from irdaemon.cli.commands import DONE, FAILED

HELP = "list the configured MCP servers, or ask those named for their tools"
ABOUT = """
List the MCP servers that agents here are set up with. Of those that are named
the tools are asked for and kept, so that they can be found; a server with a
command is run for that.
"""
EXAMPLES = """
# who is configured
irdaemon tools

# ask one of them
irdaemon tools github

# one of a project's own
irdaemon tools --file .mcp.json database
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whom to ask, where they are configured, and for how long."""
    parser.add_argument("servers", nargs="*", metavar="SERVER", help="ask this one")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="FILE",
        help="look for servers in this file alone, a project's .mcp.json say; may be repeated",
    )
    parser.add_argument(
        "--timeout", type=float, default=20.0, metavar="S", help="give each S seconds (20)"
    )


def run(options: argparse.Namespace) -> int:
    """List the servers, or keep what those named say."""
    from irdaemon.cli import tool_servers

    return DONE if tool_servers.run(options.servers, options.file, options.timeout) else FAILED
