"""`irdaemon service`: run as a service of this user."""

from __future__ import annotations

import argparse
import os

from irclient.errors import Unavailable
from irclient.terminal.exits import DONE, UNHEALTHY, UNREACHABLE
from irclient.terminal.output import print_line, print_text
from irdaemon.cli.commands.stop import stop_running
from irdaemon.config.config import state_dir
from irdaemon.daemon import service
from irdaemon.daemon.lock import holder

HELP = "install, remove or show the user service"
ABOUT = """
Run the daemon as a service of this user, from login on: a systemd user unit, or
a launchd agent on macOS. A daemon that runs already makes way for it.
"""
EXAMPLES = """
# install and start it
irdaemon service install

# show its state
irdaemon service status

# stop and remove it
irdaemon service uninstall
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what to do with the service."""
    parser.add_argument(
        "action",
        choices=("install", "uninstall", "status"),
        metavar="ACTION",
        help="install, uninstall or status",
    )


def run(options: argparse.Namespace) -> int:
    """Install, remove or show the service."""
    if options.action == "status":
        found = service.status()
        print_text(found.output)
        return DONE if found.code == 0 else UNREACHABLE
    print_line(service.install(_make_way) if options.action == "install" else service.uninstall())
    return DONE


def _make_way() -> None:
    """Stop a daemon that runs without the service, which could not start beside it."""
    pid = holder(os.path.join(state_dir(), "lock"))
    if pid is None or service.runs(pid):
        return
    if stop_running() == UNHEALTHY:
        raise Unavailable(f"the daemon that runs (pid {pid}) does not stop", "irdaemon stop")
