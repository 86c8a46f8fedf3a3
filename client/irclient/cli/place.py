"""The place of a query: the working directory, `--here DIR`, or none with `--everywhere`."""

from __future__ import annotations

import argparse
import os

from irclient.errors import QueryError
from irclient.places import endpoint, find_here, is_remote
from irclient.terminal.help import add_exclusive, argument, flag, group

PLACE = group(
    "where from",
    add_exclusive(
        argument(
            "--here DIR",
            "ask as if from DIR, so that its project is searched, too (working directory)",
            default="",
        ),
        flag("--everywhere", "search no project"),
    ),
)


def choose_place(options: argparse.Namespace) -> str:
    """Return the absolute path of the place that options choose, "" for none.

    Raises QueryError unless a named directory exists.
    """
    if options.here:
        return find_directory(options.here, "--here")
    return "" if options.everywhere else choose_default_place()


def choose_default_place() -> str:
    """Return the working directory, "" if the daemon is on another machine."""
    return "" if is_remote(endpoint()) else find_here()


def find_directory(directory: str, option: str, must_exist: bool = True) -> str:
    """Return the real path of a directory, by default the working directory.

    Raises QueryError, with the `option` in its hint, unless it is a directory.
    """
    if not directory:
        if here := find_here():
            return here
        raise QueryError("the working directory is gone", f"{option} DIR")
    path = os.path.realpath(os.path.expanduser(directory))
    if must_exist and not os.path.isdir(path):
        what = "is not a directory" if os.path.lexists(path) else "does not exist"
        raise QueryError(f"{directory} {what}", f"{option} DIR names a directory")
    return path
