"""`irc ls`: list the corpora."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal import tables
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "list the corpora, with their size and state"
ABOUT = """
List the corpora, one a line: how many artifacts, records and vectors each has,
how many changes are pending, and its state.
"""
EXAMPLES = """
# what is indexed
irc ls

# the names alone
irc ls --json | jq -r '.[].name'
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def run(client: Client, options: argparse.Namespace) -> int:
    """Print a line for each corpus."""
    corpora = client.status().corpora
    printed(options, corpora, lambda found: tables.corpora(found, terminal().width))
    return COMMITTED
