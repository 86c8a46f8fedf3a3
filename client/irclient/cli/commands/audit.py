"""`irc audit`: show what changed since it was last disclosed."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal import tables
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "show what changed in items since they were disclosed"
ABOUT = """
Show the items whose text changed since it was last disclosed, with a diff: what
an agent was given then, and what it would be given now. Disclosing an item
again takes it off the list.
"""
EXAMPLES = """
# of every corpus
irc audit

# only one corpus
irc audit skills
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which corpus."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this corpus (all)")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print each changed item with what changed in it."""
    changed = client.audit(options.corpus)
    printed(options, changed, tables.audit)
    return COMMITTED
