"""`irc wait`: wait until a generation is served."""

from __future__ import annotations

import argparse

from irclient.cli.query import add_wait
from irclient.client import Client
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.output import note, printed

HELP = "wait until a change is served"
ABOUT = """
Wait until a generation, or a later one, is served. A generation is the number
of a state of the index; answers and events carry it. Exit code 5 if the time is
up.
"""
EXAMPLES = """
# at most five seconds
irc wait 42 --wait-ms 5000
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the generation, and for how long."""
    parser.add_argument(
        "generation", type=int, metavar="GENERATION", help="its number, from an answer or an event"
    )
    add_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the generation that is served in the end."""
    state = client.wait(options.generation, options.wait_ms)
    printed(options, state, lambda state: f"generation {state['generation']}")
    if state.reached:
        return COMMITTED
    note(f"irc: the time is up, and generation {options.generation} is not served yet")
    note("     --wait-ms N waits longer; each change of what is indexed raises the number")
    return UNHEALTHY
