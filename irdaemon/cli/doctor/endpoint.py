"""Check the socket: what answers there, and whether it is the installed daemon."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from irclient.client import Client
from irclient.errors import IRError, ProtocolError
from irclient.places import END_FROZEN, fits, socket_path
from irclient.terminal.tables import describe_mismatch
from irdaemon import __version__
from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.daemon.lock import holder

_TIMEOUT_S = 3.0
_START = "irdaemon start --detach"
_RESTART = "irdaemon restart"


def check(config: Config) -> Iterable[Finding]:
    """Yield the state of the socket, of the daemon that answers, and its health."""
    path = socket_path()
    yield length(path)
    pid = holder(os.path.join(config.state_dir, "lock"))
    try:
        with Client(path, timeout=_TIMEOUT_S) as client:
            answer, state = client.ping().to_dict(), client.status().to_dict()
    except ProtocolError as error:
        yield wrong(error.message, path, error.hint)
        return
    except IRError as error:
        yield silent(path, os.path.exists(path), pid, error.message)
        return
    yield answered(path, answer, pid)
    yield from healthy(state)


def length(path: str) -> Finding:
    """Judge whether a path fits into a socket's address."""
    if fits(path):
        return ok("the socket's path is short enough", path)
    return wrong("the path is too long for a socket", path, "export IRDAEMON_SOCKET=/a/short/path")


def silent(path: str, there: bool, pid: int | None, why: str) -> Finding:
    """Judge a socket without an answer; `pid` is the daemon that holds the lock."""
    if pid is not None:
        named = f"(pid {pid})" in why
        message = why if named else f"the daemon (pid {pid}) does not answer: {why}"
        return wrong(message, path, END_FROZEN)
    if there:
        return wrong("the socket of a daemon that ended; nothing answers", path, _START)
    return note("the daemon is not running", path, _START)


def answered(path: str, answer: dict[str, Any], pid: int | None) -> Finding:
    """Judge the daemon that answered."""
    theirs, pid_there = answer["version"], answer["pid"]
    if pid != pid_there:
        message = f"pid {pid_there} answers, which is not the daemon of this state directory"
        return wrong(message, path, f"kill {pid_there}; {_START}")
    if theirs != __version__:
        message = f"the daemon that runs is {theirs}, the installed one {__version__}"
        return wrong(message, path, _RESTART)
    return ok(f"irdaemon {theirs} answers (pid {pid_there})", path)


def healthy(state: dict[str, Any]) -> Iterator[Finding]:
    """Yield what the daemon's health reports as wrong."""
    health = state.get("health")
    if health is None:
        yield wrong("the daemon that runs is older and does not report its health", fix=_RESTART)
        return
    if refused := state.get("refused"):
        message = f"the daemon goes on with the configuration before: {refused['message']}"
        yield wrong(message, state["config"], "irdaemon reload")
    for message in health["stuck"]:
        yield wrong(message, fix=_RESTART)
    for each in state.get("mismatched") or ():
        yield wrong(describe_mismatch(each).removeprefix("refused: "), fix=each["fix"])
    for corpus in health["corpora"]:
        name = corpus["name"]
        for place in corpus["offline"]:
            fix = f"ls -ld {shlex.quote(place['path'])}; irc build {name} --prune if it is gone"
            yield wrong(f"{name} is offline: {place['reason']}", place["path"], fix)
        for reason in corpus["stale"]:
            yield wrong(f"{name} is stale: {reason}", fix=f"irc build {name}; irc status")
    for message in health["limits"]:
        yield note(f"a limit is exceeded: {message}", state["config"], "raise it under [limits]")
    if health["level"] == "ok":
        yield ok("every corpus is watched and up to date")
