"""`irc discover`: few items that apply, or none."""

from __future__ import annotations

import argparse

from irclient.cli.answer import print_answer
from irclient.cli.query import add_query_options, add_select_options, query
from irclient.client import Client

HELP = "few items that apply, or none"
ABOUT = """
The few artifacts that apply to what is asked, best first, each with its score,
what it is and where it lies; or why nothing applies. Less is shown than was
found: what is not near enough to the best is left out, and a query below the
floor of every corpus gets nothing at all.
"""
EXAMPLES = """
# what applies here?
irc discover "fill in a PDF form"

# only skills, as data for a program
irc discover -c skills --json "fill in a PDF form"

# the text of what was found, too
irc discover --disclose body "fill in a PDF form"

# one owner's documents, changed files included
irc discover --where owner=acme --fresh "quarterly report"

# whatever fits into 50 ms
irc discover --budget-ms 50 "quarterly report"
"""


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
