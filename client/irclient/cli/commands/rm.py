"""`irc rm`: take a corpus away."""

from __future__ import annotations

import argparse

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client

HELP = "take a corpus away"
ABOUT = """
Take a corpus out of the configuration file and forget what was indexed of it.
The files themselves are not touched.
"""
EXAMPLES = """
# it was not needed after all
irc rm notes
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus."""
    parser.add_argument("name", metavar="CORPUS", help="its name; `irc ls` has them")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Have the corpus taken out of the configuration and forgotten."""
    return follow(client, client.rm(options.name), options)
