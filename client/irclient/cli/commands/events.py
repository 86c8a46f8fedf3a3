"""`irc events`: follow what the daemon does."""

from __future__ import annotations

import argparse

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import say_json

HELP = "follow what the daemon does"
ABOUT = """
Follow what the daemon does: one JSON object a line, until interrupted. The
event `lost` says that the daemon went away, `back` that there is one again.
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
        "topic", nargs="*", metavar="TOPIC", help="generation, job, failure (all of them)"
    )


def run(client: Client, options: argparse.Namespace) -> int:
    """Print events as JSON, one a line, until interrupted."""
    client.ping()
    for topic, data in client.events(options.topic):
        say_json({"event": topic, **data})
    return COMMITTED
