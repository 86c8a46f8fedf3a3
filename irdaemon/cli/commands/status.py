"""`irdaemon status`: how the daemon is."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal import status as tables
from irclient.terminal.exits import exit_of_status
from irclient.terminal.output import printed

HELP = "how it is"
ABOUT = """
How the daemon and its corpora are, as `irc status` says it. Exit code 5
when something is stale or offline.
"""
EXAMPLES = """
# is it well?
irdaemon status

# as data
irdaemon status --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the form."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Ask the daemon and print what it says."""
    with Client() as client:
        state = client.status().to_dict()
    printed(options, state, tables.status)
    return exit_of_status(state)
