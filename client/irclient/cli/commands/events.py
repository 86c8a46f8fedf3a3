"""`irc events`: print the daemon's events."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import output_lost, print_json

HELP = "print what the daemon does, as it happens"
ABOUT = """
Print the daemon's events, one JSON object a line, until interrupted: a new
`generation` of the index, an ended `job`, a `failure` to read an entry, how far
an `evaluation` is. `lost` reports that the daemon went away, `back` that it is
there again.
"""
EXAMPLES = """
# everything
irc events

# only published changes
irc events generation

# wait for the next failure
irc events failure | head -1
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which events."""
    parser.add_argument(
        "topic",
        nargs="*",
        metavar="TOPIC",
        help="only these: generation, job, failure, evaluation (all)",
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print events as JSON, one a line, until interrupted."""
    client.ping()
    for topic, data in client.events(options.topic):
        print_json({"event": topic, **data})
        if output_lost():
            break
    return COMMITTED
