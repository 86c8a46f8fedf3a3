"""`irdaemon status`: show the state of the daemon."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal import tables
from irclient.terminal.exits import choose_status_exit
from irclient.terminal.output import print_data
from irclient.terminal.width import detect_terminal

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
    print_data(options, state, lambda found: tables.format_status(found, detect_terminal().width))
    return choose_status_exit(state)
