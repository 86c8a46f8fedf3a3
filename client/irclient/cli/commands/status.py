"""`irc status`: show the state of the daemon."""

from __future__ import annotations

import argparse
import os

from irclient.agents.install.entries import may_be_gone
from irclient.client import Client
from irclient.invisible import shown
from irclient.terminal import tables
from irclient.terminal.exits import COMMITTED, exit_of_status
from irclient.terminal.output import note, print_text, printed
from irclient.terminal.width import terminal

HELP = "show whether the daemon and every corpus are healthy"
ABOUT = """
Show how the daemon and its corpora are: the generation that is served, the jobs
in the queue, the size of each corpus, and every problem. `irc top` shows it
live. Exit code 5 if a corpus is stale (behind its files) or offline (a root is
missing or cannot be watched).
"""
EXAMPLES = """
# is everything up to date?
irc status

# what could not be read, and why
irc status --failures

# where the time goes
irc status --profile

# for monitoring
irc status --prometheus
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which part of the state."""
    parser.add_argument(
        "--failures", action="store_true", help="list what could not be read, and why"
    )
    parser.add_argument(
        "--secrets", action="store_true", help="list where credentials stand in the indexed files"
    )
    parser.add_argument("--profile", action="store_true", help="add how long each stage takes")
    parser.add_argument("--prometheus", action="store_true", help="print metrics for Prometheus")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the state, or the part that was asked for."""
    if options.failures:
        failures = client.failures()
        printed(options, failures, lambda found: tables.failures(found) or "no failures")
    elif options.secrets:
        secrets = client.secrets()
        printed(options, secrets, lambda found: tables.secrets(found) or "no secrets were met")
    elif options.prometheus:
        from irclient.cli.prometheus import prometheus

        print_text(prometheus(shown(client.status(profile=True).to_dict())))
    else:
        state = client.status(options.profile).to_dict()
        printed(options, state, lambda found: tables.status(found, terminal().width))
        _note_missing_hooks()
        return exit_of_status(state)
    return COMMITTED


def _note_missing_hooks() -> None:
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = "/"
    if may_be_gone(os.path.expanduser("~"), cwd, os.environ):
        from irclient.agents.install.targets import missing_hooks

        for missing in missing_hooks():
            note(f"irc: {missing}; {missing.fix} writes it again")
