"""`irc gaps`: what was needed and not found."""

from __future__ import annotations

import argparse

from irclient.cli import reports
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed
from irclient.terminal.width import terminal

HELP = "what was needed and not found, and what would cure it"
ABOUT = """
Items that agents used although the answer did not offer them, and prompts that
nothing was offered for, taken together where they share words: how many, why,
and the edit that would cure it, such as the words that people use and the
item's description lacks. What one prompt alone shows is counted, not listed
(--least 1 lists it), and so is what was used and is not indexed.
Prompts of the time before use was noted are asked anew.
"""
EXAMPLES = """
# what do descriptions lack?
irc gaps

# also what one prompt alone shows
irc gaps --least 1

# for a script
irc gaps --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how many prompts show a gap."""
    parser.add_argument(
        "--least", type=int, default=2, metavar="N", help="list what N prompts show (2)"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print each gap."""
    report = client.gaps(options.least).to_dict()
    printed(options, report, lambda found: reports.gaps(found, terminal().width))
    return COMMITTED
