"""`irc records`: the records of an artifact."""

from __future__ import annotations

import argparse
from typing import Any

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "the records of an artifact"
ABOUT = """
The records of one artifact in the order they were made: what a query is
compared with.
"""
EXAMPLES = """
# how was this document cut?
irc records notes/backups.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the artifact."""
    parser.add_argument("reference", metavar="CORPUS/ID", help="as an answer names it")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the records in plan order, a line each."""
    records = client.records(options.reference)
    printed(options, records, lambda records: "\n".join(map(_line, records)))
    return COMMITTED


def _line(record: dict[str, Any]) -> str:
    return f"{record['surface_index']}  {record['kind']}  {record['text'][:100]!r}"
