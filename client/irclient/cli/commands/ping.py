"""`irc ping`: check that the daemon answers."""

from __future__ import annotations

import argparse
import time

from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import printed

HELP = "check that the daemon answers"
ABOUT = """
Check that the daemon answers; print its version and how long it took.
"""
EXAMPLES = """
# is it there?
irc ping

# for a script that cannot wait
irc ping --timeout 0.5 --json
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the version and pid of the daemon that answered, and how soon."""
    started = time.perf_counter()
    pong = client.ping()
    took = (time.perf_counter() - started) * 1e3
    printed(options, pong, lambda it: f"irdaemon {it['version']}, pid {it['pid']}, {took:.1f} ms")
    return COMMITTED
