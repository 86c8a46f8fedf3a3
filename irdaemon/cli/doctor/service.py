"""Check the daemon: socket, health, service, agents' hooks and ledger file."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from irclient.agents.install.targets import find_missing_hooks
from irclient.client import Client
from irclient.errors import IRError, ProtocolError
from irclient.places import END_FROZEN, fits, socket_path
from irclient.terminal.tables import describe_mismatch
from irdaemon import __version__
from irdaemon.cli.doctor import Finding, note, ok, wrong
from irdaemon.config.sections import Config
from irdaemon.daemon import service
from irdaemon.daemon.lock import find_holder
from irdaemon.ledger.schema import MIGRATIONS
from irdaemon.runtime.memory import MB

_TIMEOUT_S = 3.0
_START = "irdaemon start --detach"
_RESTART = "irdaemon restart"


def check_daemon(config: Config) -> Iterable[Finding]:
    """Check the socket, the daemon that answers there, and its health."""
    path = socket_path()
    yield judge_path_length(path)
    pid = find_holder(os.path.join(config.state_dir, "lock"))
    try:
        with Client(path, timeout=_TIMEOUT_S) as client:
            answer, state = client.ping().to_dict(), client.status().to_dict()
    except ProtocolError as error:
        yield wrong(error.message, path, error.hint)
        return
    except IRError as error:
        yield judge_silence(path, os.path.exists(path), pid, error.message)
        return
    yield judge_answer(path, answer, pid)
    yield from judge_health(state)


def judge_path_length(path: str) -> Finding:
    """Judge whether a path fits into a socket's address."""
    if fits(path):
        return ok("the socket's path is short enough", path)
    return wrong("the path is too long for a socket", path, "export IRDAEMON_SOCKET=/a/short/path")


def judge_silence(path: str, there: bool, pid: int | None, why: str) -> Finding:
    """Judge a socket that does not answer; `pid` is the daemon that holds the lock."""
    if pid is not None:
        named = f"(pid {pid})" in why
        message = why if named else f"the daemon (pid {pid}) does not answer: {why}"
        return wrong(message, path, END_FROZEN)
    if there:
        return wrong(
            "the socket is left over from a daemon that ended; nothing answers", path, _START
        )
    return note("the daemon is not running", path, _START)


def judge_answer(path: str, answer: dict[str, Any], pid: int | None) -> Finding:
    """Judge the daemon that answered."""
    theirs, pid_there = answer["version"], answer["pid"]
    if pid != pid_there:
        message = f"pid {pid_there} answers, which is not the daemon of this state directory"
        return wrong(message, path, f"kill {pid_there}; {_START}")
    if theirs != __version__:
        message = f"the running daemon is {theirs}, the installed one {__version__}"
        return wrong(message, path, _RESTART)
    return ok(f"irdaemon {theirs} answers (pid {pid_there})", path)


def judge_health(state: dict[str, Any]) -> Iterator[Finding]:
    """Yield the problems that the daemon's health reports."""
    health = state.get("health")
    if health is None:
        yield wrong("the running daemon is older and does not report its health", fix=_RESTART)
        return
    if refused := state.get("refused"):
        message = f"the daemon keeps its previous configuration: {refused['message']}"
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
    if advice := state.get("advice"):
        yield note(advice["message"], fix=advice["hint"])
    for message in health["limits"]:
        yield note(f"a limit is exceeded: {message}", state["config"], "raise it under [limits]")
    if health["level"] == "ok":
        yield ok("every corpus is watched and up to date")


_INSTALL = "irdaemon service install"
_ANEW = (
    f"journalctl --user -u {service.UNIT} -n 50; systemctl --user reset-failed {service.UNIT}"
    f" && systemctl --user restart {service.UNIT}"
)


def check_service(config: Config) -> Iterable[Finding]:
    """Check that the service is installed and runs."""
    if sys.platform == "darwin":
        path, wanted = service.find_agent(), service.make_agent()
    else:
        path, wanted = service.find_unit(), service.make_unit().encode()
    if not path.exists():
        yield note(
            "no service is installed; the daemon must be started by hand", str(path), _INSTALL
        )
        return
    yield judge_service_file(str(path), path.read_bytes(), wanted)
    if sys.platform != "darwin" and shutil.which("systemctl"):
        yield judge_unit(service.read_status().output)


def judge_service_file(path: str, found: bytes, wanted: bytes) -> Finding:
    """Judge whether a service file is the one that this installation would write."""
    if found == wanted:
        return ok("the service is installed for this interpreter", path)
    message = f"the service belongs to another installation than {sys.executable}, or was edited"
    return wrong(message, path, _INSTALL)


def judge_unit(output: str) -> Finding:
    """Judge the manager's report on the unit."""
    state = next((line.strip() for line in output.splitlines() if "Active:" in line), "")
    if "failed" in state:
        return wrong(f"the service has failed ({state})", service.UNIT, _ANEW)
    if "Active: active" in state:
        return ok(f"the service runs ({state})", service.UNIT)
    if not state:
        message = f"no service manager runs for this user ({output.strip()})"
        return note(message, service.UNIT, "irdaemon start --detach")
    fix = f"systemctl --user start {service.UNIT}"
    return note(f"the service does not run ({state})", service.UNIT, fix)


def check_hooks(config: Config) -> Iterable[Finding]:
    """Check the agents' hooks, since agents do not report a broken one."""
    missing = find_missing_hooks()
    yield from (wrong(str(each), each.settings, each.fix) for each in missing)
    if not missing:
        yield ok("every installed hook names files that exist, and speaks the daemon's protocol")


_FORGOTTEN = "irdaemon stop --forget && irdaemon start --detach"
_REBUILT = "irdaemon stop && irdaemon check --repair && irdaemon start --detach"
_LONG_LOG = 512 * MB


def check_ledger_file(config: Config) -> Iterable[Finding]:
    """Check the format and integrity of the ledger file, and the length of its log."""
    path = config.ledger_path
    if not os.path.exists(path):
        yield note("no ledger yet; the first start makes it", path)
        return
    try:
        yield from _judge_file(path)
    except sqlite3.Error as error:
        yield wrong(f"cannot be read: {error}", path, _REBUILT)
    log = f"{path}-wal"
    yield from judge_log_length(path, os.path.getsize(log) if os.path.exists(log) else 0)


def _judge_file(path: str) -> Iterator[Finding]:
    url = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"{url}?mode=ro", uri=True, timeout=5)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        yield judge_ledger_format(path, version, len(MIGRATIONS))
        yield judge_integrity(path, [row[0] for row in connection.execute("PRAGMA quick_check(5)")])
    finally:
        connection.close()


def judge_ledger_format(path: str, version: int, known: int) -> Finding:
    """Judge the format version of a ledger."""
    if version > known:
        message = f"format {version} is from a later irdaemon; this one supports up to {known}"
        return wrong(message, path, f"start the later irdaemon again, or {_FORGOTTEN}")
    if version < known:
        return note(f"format {version}; the next start upgrades it to {known}", path)
    return ok(f"format {version}", path)


def judge_integrity(path: str, results: list[str]) -> Finding:
    """Judge the results of SQLite's quick check."""
    if results == ["ok"]:
        return ok("the quick check finds nothing wrong", path)
    return wrong(f"is damaged: {'; '.join(results)}", path, _REBUILT)


def judge_log_length(path: str, size: int) -> Iterator[Finding]:
    """Yield a finding if the write-ahead log is not checkpointed."""
    if size > _LONG_LOG:
        message = f"the write-ahead log holds {size // MB:,} MB: a reader prevents checkpoints"
        yield wrong(message, f"{path}-wal", f"fuser {shlex.quote(path)}-wal; irdaemon restart")
