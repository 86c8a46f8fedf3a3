"""`irc uninstall`: take the hooks and the MCP server out of a coding agent's settings."""

from __future__ import annotations

import argparse

from irclient.agents.install.apply import add_agent_options, apply_changes, plan_changes
from irclient.agents.install.changes import to_uninstall
from irclient.client import Client

HELP = "take out of a coding agent's settings what install put in"
ABOUT = """
Take out of a coding agent's settings what install put in. A file that nobody
else changed becomes what it was, to the byte.
"""
EXAMPLES = """
irc uninstall claude
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and what to take out."""
    add_agent_options(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Show the changes of the agent's files and make them."""
    changes = plan_changes(options, to_uninstall)
    return apply_changes(options, changes, f"nothing of ours is in the settings of {options.agent}")
