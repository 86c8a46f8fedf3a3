"""`irc install`: write the hooks and the MCP server into a coding agent's settings."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from irclient.agents.install.apply import add_agent_options, apply_changes, plan_changes
from irclient.agents.install.changes import to_install
from irclient.agents.install.targets import NOTES
from irclient.client import Client
from irclient.installation import extra_command
from irclient.terminal.output import note

HELP = "set up a coding agent: its hooks and the MCP server"
ABOUT = """
Write the hooks and the MCP server into a coding agent's own settings, and show
the difference. Comments, order and layout stay; a copy of the file as it was is
kept beside it. Run again after an upgrade: what is up to date is left alone.
"""
EXAMPLES = """
# see what would change
irc install claude --dry-run

# only the server, for the project in this directory
irc install codex --mcp --project
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the agent, and what to set up."""
    add_agent_options(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Show the changes of the agent's files and make them."""
    changes = plan_changes(options, to_install)
    code = apply_changes(options, changes, f"{options.agent} is set up already")
    if changes and options.agent in NOTES:
        note(NOTES[options.agent])
    if (options.mcp or not options.hooks) and find_spec("mcp") is None:
        note("irc: the MCP server cannot start: the MCP SDK is not installed")
        note(f"     {extra_command('mcp', 'irclient')}")
    return code
