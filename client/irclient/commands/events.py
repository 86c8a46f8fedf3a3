"""`irc events`: follow what the daemon does."""

from __future__ import annotations

import argparse
import json

from irclient.client import Client
from irclient.exits import COMMITTED

HELP = "follow what the daemon does"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which events."""
    parser.add_argument("topic", nargs="*", help="generation, job, failure (all)")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print events as JSON, one a line, until interrupted."""
    client.ping()
    for topic, data in client.events(options.topic):
        print(json.dumps({"event": topic, **data}), flush=True)
    return COMMITTED
