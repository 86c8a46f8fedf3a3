"""`irdaemon service`: run as a service of this user."""

from __future__ import annotations

import argparse

from irclient.terminal.exits import DONE, UNREACHABLE
from irclient.terminal.output import print_line, print_text
from irdaemon.daemon import service

HELP = "install, remove or show the user service"
ABOUT = """
Run the daemon as a service of this user, from login on: a systemd user unit, or
a launchd agent on macOS.
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
    print_line(service.install() if options.action == "install" else service.uninstall())
    return DONE
