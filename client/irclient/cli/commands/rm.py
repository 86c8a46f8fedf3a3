"""`irc rm`: remove a corpus."""

from __future__ import annotations

import argparse

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client

HELP = "remove a corpus from the configuration and the index"
ABOUT = """
Remove a corpus from the configuration file, and delete what was indexed of it.
The files themselves are not touched. One that is found by itself is switched
off until `irc add NAME`.
"""
EXAMPLES = """
# it is no longer needed
irc rm notes
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus."""
    parser.add_argument("name", metavar="CORPUS", help="its name; `irc ls` lists them")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Remove the corpus from the configuration, and follow its deletion."""
    return follow(client, client.rm(options.name), options)
