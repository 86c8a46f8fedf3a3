"""`irc install`: write the hooks and the MCP server into a coding agent's settings."""

from __future__ import annotations

import argparse
import sys

from irclient.client import Client
from irclient.install.agents import NOTES
from irclient.install.changes import to_install
from irclient.install.setting_up import add_agent_options, carried_out, planned

HELP = "set up a coding agent: its hooks and the MCP server"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and what to set up."""
    add_agent_options(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Show the changes of the agent's files and make them."""
    changes = planned(options, to_install)
    code = carried_out(options, changes, f"{options.agent} is set up already")
    if changes and options.agent in NOTES:
        print(NOTES[options.agent], file=sys.stderr)
    return code
