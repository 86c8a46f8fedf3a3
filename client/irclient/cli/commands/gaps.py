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
item's description lacks. What one prompt alone shows is counted, not listed.
Prompts of the time before use was noted are asked anew.
"""
EXAMPLES = """
# what do descriptions lack?
irc gaps

# for a script
irc gaps --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing: it is about everything that is kept."""


def run(client: Client, options: argparse.Namespace) -> int:
    """Print each gap."""
    report = client.gaps().to_dict()
    printed(options, report, lambda found: reports.gaps(found, terminal().width))
    return COMMITTED
