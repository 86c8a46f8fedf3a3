"""`irc status`: the state of the daemon."""

from __future__ import annotations

import argparse

from irclient.agents.install.missing import missing_hooks
from irclient.cli.prometheus import prometheus
from irclient.client import Client
from irclient.invisible import shown
from irclient.terminal import status as tables
from irclient.terminal.exits import COMMITTED, exit_of_status
from irclient.terminal.output import note, printed, say_text

HELP = "the state of the daemon"
ABOUT = """
How the daemon and its corpora are: generation, queue, what is held, what is
wrong. `irc top` shows it live. Exit code 5 when something is stale or dark.
"""
EXAMPLES = """
# is everything fresh?
irc status

# what could not be read, and why
irc status --failures

# where the time goes
irc status --profile

# for a monitor
irc status --prometheus
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which part of the state."""
    parser.add_argument("--failures", action="store_true", help="what could not be read, and why")
    parser.add_argument("--secrets", action="store_true", help="where secrets lie in the sources")
    parser.add_argument("--profile", action="store_true", help="where the time goes, by stage")
    parser.add_argument("--prometheus", action="store_true", help="as text for Prometheus")


def run(client: Client, options: argparse.Namespace) -> int:
    """Print the state, or the part that was asked for."""
    if options.failures:
        failures = client.failures()
        printed(options, failures, lambda found: tables.failures(found) or "no failures")
    elif options.secrets:
        secrets = client.secrets()
        printed(options, secrets, lambda found: tables.secrets(found) or "no secrets were met")
    elif options.prometheus:
        say_text(prometheus(shown(client.status(profile=True))))
    else:
        state = client.status(options.profile)
        printed(options, state, tables.status)
        for missing in missing_hooks():
            note(f"irc: {missing}; {missing.fix} writes it anew")
        return exit_of_status(state)
    return COMMITTED
