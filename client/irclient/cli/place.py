"""The place of a command line: the working directory, `--here DIR`, or none with `--everywhere`."""

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
            *("--here",),
            default="",
            metavar="DIR",
            help="as asked from DIR: its project is searched too (the working directory)",
        ),
        flag("--everywhere", "from nowhere: no project is searched"),
    ),
)


def choose_place(options: argparse.Namespace) -> str:
    """Return the absolute path of the place that options choose, "" for none.

    Raises QueryError for a directory that is named and cannot be one.
    """
    if options.here:
        return find_directory(options.here, "--here")
    return "" if options.everywhere else choose_default_place()


def choose_default_place() -> str:
    """Return the working directory, "" where a daemon on another machine is asked."""
    return "" if is_remote(endpoint()) else find_here()


def find_directory(directory: str, of: str, must_exist: bool = True) -> str:
    """Return the real path of a directory, "" being the working directory.

    `of` names in an error who wants it. Raises QueryError where it is none.
    """
    if not directory:
        if here := find_here():
            return here
        raise QueryError("the working directory is gone", f"{of} DIR")
    path = os.path.realpath(os.path.expanduser(directory))
    if must_exist and not os.path.isdir(path):
        what = "is no directory" if os.path.lexists(path) else "does not exist"
        raise QueryError(f"{of} {directory}: it {what}", "name a directory")
    return path
