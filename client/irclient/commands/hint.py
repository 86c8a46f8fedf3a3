"""`irc hint`: say that a file has changed."""

from __future__ import annotations

import argparse
import os

from irclient.client import Client
from irclient.following import add_no_wait, follow

HELP = "look now at one file that is indexed, or should be"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the path."""
    parser.add_argument("path", help="a file or directory below a corpus' root")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Ask for the looks and follow them."""
    return follow(client, client.hint(os.path.abspath(options.path)), options)
