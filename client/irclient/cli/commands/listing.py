"""`irc listing`: which skills an agent's own listing has no room for."""

from __future__ import annotations

import argparse

from irclient.cli import reports
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "which skills an agent's own listing has no room for"
ABOUT = """
Claude Code lists skills to its model in a hundredth of its context, and shows
those it has no room for by their names only. This estimates which those are,
by the published formula, and what each skill costs.
"""
EXAMPLES = """
# with a context of 200,000 tokens
irc listing

# with another
irc listing --context-tokens 1000000
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how large the context is."""
    parser.add_argument(
        "--context-tokens", type=int, default=0, metavar="N", help="the context's size (200000)"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print what is cut, and what each skill costs."""
    report = client.listing(options.context_tokens).to_dict()
    printed(options, report, lambda found: reports.listing(found, terminal().width))
    return COMMITTED
