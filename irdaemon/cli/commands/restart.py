"""`irdaemon restart`: stop the daemon, then start it detached."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import UNHEALTHY
from irdaemon.cli.commands.start import add_options as add_options  # the same ones
from irdaemon.cli.commands.start import start_detached
from irdaemon.cli.commands.stop import stop_running

HELP = "stop the daemon, then start it detached"
ABOUT = """
Stop the daemon if it runs, and start one in the background. If the
configuration has an error, the running daemon is left alone.
"""
EXAMPLES = """
# after an upgrade
irdaemon restart

# with another configuration
irdaemon restart --config ./irdaemon.toml
"""


def run(options: argparse.Namespace) -> int:
    """Stop the daemon if it runs, and start one."""
    from irdaemon.config.config import load_config
    from irdaemon.config.corpus import corpora_of

    corpora_of(load_config(options.config))  # a broken file must not cost the running daemon
    if stop_running() == UNHEALTHY:
        return UNHEALTHY
    return start_detached(options)
