"""`irdaemon status`: how the daemon is."""

from __future__ import annotations

import argparse
import json

from irclient import show
from irclient.client import Client
from irclient.exits import exit_of_status

HELP = "how it is; exit code 5 when it is stale or dark"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the form."""
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Ask the daemon and print what it says."""
    with Client() as client:
        state = client.status()
    print(json.dumps(state, ensure_ascii=False) if options.json else show.status(state))
    return exit_of_status(state)
