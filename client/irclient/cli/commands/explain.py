"""`irc explain`: why an answer is as it is."""

from __future__ import annotations

import argparse

from irclient.cli.asking import asked
from irclient.cli.explanation import explanation, whole_explanation
from irclient.cli.query import add_query_options, add_rounds, add_select_options
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "why an answer is as it is, or is not"
ABOUT = """
Why an answer is as it is: what was chosen, which corpora were sure enough to
answer, and what came next. With --all every corpus with the score of each
candidate by meaning and by words; with --item also how far one item got, and
by how much it fell short.
"""
EXAMPLES = """
# why this answer?
irc explain "fill in a PDF form"

# every stage, corpus and score
irc explain --all "fill in a PDF form"

# why is this one not in the answer?
irc explain --item skills/review-pull-request "fill in a PDF form"

# what each round asked and found
irc explain --rounds 3 "fill in a PDF form, and clean up a spreadsheet"
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a query, how to select, and the item to ask about."""
    add_query_options(parser)
    add_select_options(parser)
    add_rounds(parser)
    parser.add_argument("--all", action="store_true", help="show every corpus, candidate and score")
    parser.add_argument("--item", default="", metavar="CORPUS/ID", help="what became of this one")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what every stage saw and did."""
    explained = client.explain(asked(client, options), options.item)
    shown = whole_explanation if options.all else explanation
    printed(options, explained, lambda found: shown(found, terminal().width))
    return COMMITTED
