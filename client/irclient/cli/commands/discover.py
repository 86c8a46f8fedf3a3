"""`irc discover`: few items that apply, or none."""

from __future__ import annotations

import argparse

from irclient.cli.answer import add_paths, print_answer
from irclient.cli.query import (
    add_query_options,
    add_related,
    add_rounds,
    add_select_options,
    asked,
)
from irclient.client import Client

HELP = "few items that apply, or none"
ABOUT = """
The few items that apply to what is asked, best first, each with its score,
what it is and where it lies; or why nothing applies. Less is shown than was
found: what is clearly weaker than the best is left out, and where no corpus
has anything near enough to the question, nothing is shown at all.
"""
EXAMPLES = """
# what applies here?
irc discover "fill in a PDF form"

# only skills, as data for a program
irc discover -c skills --json "fill in a PDF form"

# the text of what was found, too
irc discover --disclose body "fill in a PDF form"

# the documents of one owner, files changed just now included
irc discover --where owner=acme --fresh "quarterly report"

# for a prompt in a file, one item, as a path for another program
irc discover - -n 1 --paths < prompt.txt

# what was said about it in the last week
irc discover --since 7d "quarterly report"

# two things at once: what the first answer leaves out is asked by itself
irc discover --rounds 3 "fill in a PDF form, and clean up a spreadsheet"

# with the packages that a skill needs, and the sessions that used it
irc discover --related "fill in a PDF form"

# the best answer that fits into 50 ms
irc discover --budget-ms 50 "quarterly report"
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a query, and how to select from what it finds."""
    add_query_options(parser)
    add_select_options(parser)
    add_rounds(parser)
    add_related(parser)
    add_paths(parser)
    parser.add_argument(
        "--session", default="", metavar="ID", help="leave out what this session was shown before"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the committed items, or why there are none."""
    return print_answer(options, client.discover(asked(client, options), options.session))
