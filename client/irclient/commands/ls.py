"""`irc ls`: the corpora."""

from __future__ import annotations

import argparse

from irclient import show
from irclient.client import Client
from irclient.exits import COMMITTED
from irclient.output import printed

HELP = "the corpora"
ABOUT = """
One line for each corpus: how much it holds, what is pending, and its state.
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
    corpora = client.status()["corpora"]
    printed(options, corpora, show.corpora)
    return COMMITTED
