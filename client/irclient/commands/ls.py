"""`irc ls`: the corpora."""

from __future__ import annotations

import argparse

from irclient import show
from irclient.client import Client
from irclient.exits import COMMITTED
from irclient.output import printed

HELP = "the corpora"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def run(client: Client, options: argparse.Namespace) -> int:
    """Print a line for each corpus."""
    corpora = client.status()["corpora"]
    printed(options, corpora, lambda: show.corpora(corpora))
    return COMMITTED
