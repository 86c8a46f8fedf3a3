"""`irdaemon restart`: stop the daemon, then start it detached."""

from __future__ import annotations

import argparse
import os

from irclient.errors import QueryError
from irclient.terminal.exits import DONE, UNHEALTHY
from irclient.terminal.output import note
from irdaemon.cli.commands.start import add_options as add_options  # the same ones
from irdaemon.cli.commands.start import start_detached, wait_indexed
from irdaemon.cli.commands.stop import stop_running
from irdaemon.config.config import state_dir
from irdaemon.daemon import service
from irdaemon.daemon.lock import holder

HELP = "stop the daemon, then start it detached"
ABOUT = """
Stop the daemon if it runs, and start one in the background; one that systemd or
launchd runs is restarted by that. If the
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
    from irdaemon.daemon.active_config import check_startable

    check_startable(load_config(options.config))  # a broken file must not cost the running daemon
    if service.runs(holder(os.path.join(state_dir(), "lock"))):
        return _restart_service(options)
    if stop_running() == UNHEALTHY:
        return UNHEALTHY
    return start_detached(options)


def _restart_service(options: argparse.Namespace) -> int:
    """Have the service's manager restart the daemon, so that it goes on being the manager's."""
    for name in ("config", "fallback", "log"):
        if getattr(options, name):
            raise QueryError(
                f"the daemon runs as a service, which takes no --{name} from here",
                f"irdaemon stop, and then irdaemon start --detach --{name} ...",
            )
    note(f"irdaemon: {service.restart()}")
    return wait_indexed(options) if options.wait else DONE
