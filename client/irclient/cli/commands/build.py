"""`irc build`: look at a corpus now, or at all."""

from __future__ import annotations

import argparse

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client

HELP = "look at a corpus now, or at all"
ABOUT = """
Look at a corpus now, or at all of them, and follow the look. Seldom needed:
changes are seen by themselves, and everything is looked at four times an hour.
"""
EXAMPLES = """
# look at everything
irc build

# read every entry of one corpus again
irc build --full notes

# a directory is gone for good: forget what was in it
irc build --prune notes
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus, and how thoroughly to look."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this one")
    parser.add_argument("--full", action="store_true", help="read every entry again")
    parser.add_argument(
        "--prune", action="store_true", help="forget what missing or empty roots held"
    )
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Ask for the looks and follow them."""
    jobs = client.build(options.corpus, options.full, options.prune)
    return follow(client, jobs, options)
