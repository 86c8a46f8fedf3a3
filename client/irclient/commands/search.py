"""`irc search`: ranked candidates, without selection."""

from __future__ import annotations

import argparse

from irclient.answering import print_answer
from irclient.asking import add_query_options, query
from irclient.client import Client

HELP = "ranked candidates, without selection"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add a query."""
    add_query_options(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the candidates, best first."""
    return print_answer(options, client.search(query(options)))
