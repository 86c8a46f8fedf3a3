"""`irdaemon status`: show the state of the daemon."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal import tables
from irclient.terminal.exits import exit_of_status
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "show whether the daemon and every corpus are healthy"
ABOUT = """
Show how the daemon and its corpora are, as `irc status` does. Exit code 5 if a
corpus is stale (behind its files) or offline (a root is missing or cannot be
watched).
"""
EXAMPLES = """
# is everything up to date?
irdaemon status

# as data
irdaemon status --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the form."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the daemon's status."""
    with Client() as client:
        state = client.status().to_dict()
    printed(options, state, lambda found: tables.status(found, terminal().width))
    return exit_of_status(state)
