"""`irc discover`: few items that apply, or none."""

from __future__ import annotations

import argparse

from irclient.answering import print_answer
from irclient.asking import add_query_options, add_select_options, query
from irclient.client import Client

HELP = "few items that apply, or none"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a query, and how to select from what it finds."""
    add_query_options(parser)
    add_select_options(parser)
    parser.add_argument(
        "--session", default="", metavar="ID", help="leave out what this session was shown before"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the committed items, or why there are none."""
    return print_answer(options, client.discover(query(options), options.session))
