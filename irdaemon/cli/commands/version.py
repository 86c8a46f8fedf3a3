"""`irdaemon version`: print the version."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import DONE
from irclient.terminal.output import print_line
from irdaemon import __version__

HELP = "print the version"
ABOUT = """
Print the version and nothing else.
"""
EXAMPLES = """
# which one is this?
irdaemon version
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def run(options: argparse.Namespace) -> int:
    """Print the version."""
    print_line(f"irdaemon {__version__}")
    return DONE
