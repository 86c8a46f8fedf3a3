"""`irc rm`: take a corpus away."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.following import add_no_wait, follow

HELP = "take a corpus away"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus."""
    parser.add_argument("name", metavar="NAME")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Have the corpus taken out of the configuration and forgotten."""
    return follow(client, client.rm(options.name), options)
