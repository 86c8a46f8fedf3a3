"""`irc hint`: report that a file has changed."""

from __future__ import annotations

import argparse
import os

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client

HELP = "scan one file or directory for changes now"
ABOUT = """
Report that a file has changed: every corpus with a root above it scans it now,
without waiting for a notification of the kernel. For editors and scripts on
file systems that report no changes.
"""
EXAMPLES = """
# after writing to a network mount
irc hint /mnt/team/skills/release/SKILL.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the path."""
    parser.add_argument("path", metavar="PATH", help="a file or directory below a corpus' root")
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Request the scans and follow them."""
    return follow(client, client.hint(os.path.abspath(options.path)), options)
