"""Check that what the daemon runs on is new enough, and of one release."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

import zmq

import irclient
import irdaemon
from irclient.installation import find_source, install_command
from irdaemon.cli.doctor.finding import Finding, ok, wrong
from irdaemon.config.config import Config

Version = tuple[int, ...]

_PYTHON: Version = (3, 11)
_SQLITE: Version = (3, 35)  # RETURNING
_ZMQ: Version = (4, 1)
_PACKAGES = ("numpy", "hnswlib", "watchdog", "apscheduler", "msgpack")


def check(config: Config) -> Iterable[Finding]:
    """Yield how the interpreter, the libraries and the client are."""
    yield new_enough("Python", sys.version_info[:3], _PYTHON, sys.executable)
    yield new_enough("SQLite", sqlite3.sqlite_version_info, _SQLITE)
    yield new_enough("libzmq", zmq.zmq_version_info(), _ZMQ)
    yield from packages(_PACKAGES)
    yield same_release(irdaemon.__version__, irclient.__version__)


def new_enough(name: str, version: Version, least: Version, where: str = "") -> Finding:
    """Judge a version."""
    message = f"{name} {_dotted(version)}"
    if tuple(version) >= least:
        return ok(message, where)
    return wrong(
        f"{message} is older than {_dotted(least)}",
        where,
        f"install irdaemon in an environment of a later Python, from {find_source('irdaemon')}",
    )


def packages(names: Iterable[str]) -> Iterator[Finding]:
    """Yield which installed libraries there are."""
    for name in names:
        try:
            yield ok(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield wrong(f"{name} is not installed", sys.prefix, install_command(name))


def same_release(daemon: str, client: str) -> Finding:
    """Judge whether daemon and client were released together."""
    if daemon == client:
        return ok(f"irdaemon and irclient {daemon}")
    message = f"irdaemon is {daemon}, irclient {client}"
    return wrong(message, sys.prefix, f"install both anew, from {find_source('irdaemon')}")


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
