"""`irc uninstall`: remove the hooks and the MCP server from a coding agent's settings."""

from __future__ import annotations

import argparse

from irclient.agents.install.apply import add_agent_options, apply_changes, plan_changes
from irclient.agents.install.changes import to_uninstall
from irclient.client import Client

HELP = "undo `irc install`"
ABOUT = """
Remove from a coding agent's settings what `irc install` added. A file without
other changes becomes what it was, byte for byte.
"""
EXAMPLES = """
# remove hooks and server
irc uninstall claude
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and what to take out."""
    add_agent_options(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Show the changes of the agent's files and make them."""
    changes = plan_changes(options, to_uninstall)
    return apply_changes(options, changes, f"nothing of ours is in the settings of {options.agent}")
