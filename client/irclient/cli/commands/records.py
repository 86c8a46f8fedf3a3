"""`irc records`: list the records of an artifact."""

from __future__ import annotations

import argparse
from typing import Any

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "list the texts of an artifact that queries are matched with"
ABOUT = """
List the records of one artifact, in order. A record is a piece of an artifact,
such as its description or a chunk of its text; queries are matched with
records.
"""
EXAMPLES = """
# how was this document split?
irc records notes/backups.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the artifact."""
    parser.add_argument("reference", metavar="CORPUS/ID", help="the artifact, as answers name it")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the records in plan order, a line each."""
    records = client.records(options.reference)
    printed(options, records, lambda records: "\n".join(map(_line, records)))
    return COMMITTED


def _line(record: dict[str, Any]) -> str:
    return f"{record['surface_index']}  {record['kind']}  {record['text'][:100]!r}"
