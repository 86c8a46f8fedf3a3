"""Check that the daemon's own directories are private, writable, not full, and keys in them."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterable, Iterator

from irclient.places import socket_path
from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.runtime.memory import MB
from irdaemon.serve.listen import server_keys_path

_LEAST_FREE = 200 * MB


def check(config: Config) -> Iterable[Finding]:
    """Yield how the directories of state, configuration and socket are."""
    yield from private(config.state_dir)
    if os.path.isdir(config.state_dir):
        for name in sorted(os.listdir(config.state_dir)):
            yield from exposed(os.path.join(config.state_dir, name))
        yield from free_space(config)
    yield from editable(config.path)
    yield from keys(config)
    yield from private(os.path.dirname(socket_path()))


def private(directory: str) -> Iterator[Finding]:
    """Judge a directory that must be this user's alone."""
    shown = shlex.quote(directory)
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        yield note("is not there yet; the first start makes it", directory)
        return
    if not stat.S_ISDIR(status.st_mode):
        yield wrong("is not a directory", directory, f"mv {shown} {shown}.old")
    elif status.st_uid != os.getuid():
        yield wrong("belongs to another user", directory, f"sudo chown -R $(id -u) {shown}")
    elif status.st_mode & 0o077:
        yield wrong("is open to other users", directory, f"chmod 700 {shown}")
    elif not _writable(directory):
        yield wrong("cannot be written", directory, f"chmod u+rwx {shown}; mount | grep ' ro'")
    else:
        yield ok("is private and can be written", directory)


def exposed(path: str) -> Iterator[Finding]:
    """Yield a finding for a file of the daemon's that others may open."""
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode) and mode & 0o077:
        yield wrong("is open to other users", path, f"chmod 600 {shlex.quote(path)}")


def editable(path: str) -> Iterator[Finding]:
    """Judge the configuration file: who can write it can make the daemon load modules."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        yield note("no configuration file; what is found here is indexed", path, "irdaemon init")
        return
    if status.st_uid not in (os.getuid(), 0):
        yield wrong("belongs to another user", path, f"sudo chown $(id -u) {shlex.quote(path)}")
    elif status.st_mode & 0o022:
        yield wrong("can be written by other users", path, f"chmod go-w {shlex.quote(path)}")
    else:
        yield ok("is readable, and written by its owner alone", path)


def keys(config: Config) -> Iterator[Finding]:
    """Yield a finding for each file of keys or a token that the configuration names in vain."""
    server = server_keys_path(config)
    if config.serve.tcp and not os.path.lexists(server):
        what = "the daemon's own keys are gone: it does not start"
        yield wrong(what, server, "irdaemon keys make")
    for client in config.clients:
        if client.token and not os.path.lexists(client.token):
            name = shlex.quote(client.name)
            fix = f"irdaemon keys rm {name}; irdaemon keys add {name} --token"
            yield wrong(f"the token of {client.name} is gone: it is turned away", client.token, fix)


def free_space(config: Config) -> Iterator[Finding]:
    """Judge the free space: compaction needs as much again as the ledger takes."""
    ledger = os.path.getsize(config.ledger_path) if os.path.exists(config.ledger_path) else 0
    free = shutil.disk_usage(config.state_dir).free
    wanted = max(_LEAST_FREE, 2 * ledger)
    message = f"{free // MB:,} MB free, the ledger takes {ledger // MB:,} MB"
    if free >= wanted:
        yield ok(message, config.state_dir)
    else:
        fix = f"df -h {shlex.quote(config.state_dir)}; free at least {wanted // MB:,} MB"
        yield wrong(f"{message}: too little to compact it", config.state_dir, fix)


def _writable(directory: str) -> bool:
    read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
    return not read_only and os.access(directory, os.W_OK | os.X_OK)
