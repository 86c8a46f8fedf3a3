"""`irc search`: ranked candidates, without selection."""

from __future__ import annotations

import argparse

from irclient.cli.answer import add_paths, print_answer
from irclient.cli.query import add_passages, add_query_options, asked
from irclient.client import Client

HELP = "ranked candidates, without selection"
ABOUT = """
The ranked candidates for a query, without the decision whether they are good
enough. Use it to browse; `discover` is for acting on the answer.
"""
EXAMPLES = """
# the best ten, from everywhere
irc search "database backups"

# the exact word, in one corpus
irc search -c notes --mode lexical rsync

# the paths alone, for another program
irc search --paths "database backups"

# up to three passages of each document
irc search --passages 3 "database backups"

# fifty candidates since September, as data
irc search -k 50 --where 'timestamp>=2026-09-01' --json "failing tests"
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a query, and how much of each document to show."""
    add_query_options(parser)
    add_passages(parser)
    add_paths(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the candidates, best first."""
    return print_answer(options, client.search(asked(client, options)))
