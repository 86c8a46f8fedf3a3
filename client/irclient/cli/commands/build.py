"""`irc build`: scan one corpus, or all, now."""

from __future__ import annotations

import argparse

from irclient.cli.follow import add_no_wait, follow
from irclient.client import Client

HELP = "scan one corpus, or all, for changes now"
ABOUT = """
Scan one corpus, or all, for changes, and wait until they are indexed. Seldom
needed: changes are detected as they happen, and every corpus is scanned four
times an hour.
"""
EXAMPLES = """
# scan everything
irc build

# read every entry of one corpus again
irc build --full notes

# a directory is gone for good: delete what was indexed of it
irc build --prune notes
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus, and how thoroughly to scan."""
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="only this corpus (all)")
    parser.add_argument(
        "--full", action="store_true", help="read every entry again, changed or not"
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="delete what was indexed of roots that are missing or empty",
    )
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Request the scans and follow them."""
    jobs = client.build(options.corpus, options.full, options.prune)
    return follow(client, jobs, options)
