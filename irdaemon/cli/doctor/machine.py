"""Check the machine: system limits, versions, directories, permissions and disk space."""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata

import zmq

import irclient
import irdaemon
from irclient.installation import find_source, install_command, make_extra_command
from irclient.places import socket_path
from irdaemon.cli.doctor import Finding, note, ok, wrong
from irdaemon.config.corpus import make_corpora
from irdaemon.config.sections import Config
from irdaemon.index.graph import is_available
from irdaemon.runtime.memory import MB
from irdaemon.serve.listen import find_server_keys
from irdaemon.source.tree import Symlinks, Walk, is_searched
from irdaemon.watch.limits import SHARE, make_sysctl_command

_INOTIFY = "/proc/sys/fs/inotify"
# Inside a container or another user namespace these limits are the lower ones.
_NAMESPACE = "/proc/sys/user"
_LEAST_QUEUE = 16_384
_LEAST_FILES = 256
_ENOUGH_FILES = 1_024
_MORE_INSTANCES = "sudo sysctl fs.inotify.max_user_instances=1024"


@dataclass(frozen=True, slots=True)
class Held:
    """The inotify instances and watches that this user's programs hold."""

    instances: int
    watches: int


def check_limits(config: Config) -> Iterable[Finding]:
    """Check the limits on inotify and on open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The daemon raises the soft limit up to the hard one.
    most = soft if hard == resource.RLIM_INFINITY else hard
    yield judge_open_files(min(config.limits.open_files or most, most))
    if sys.platform != "linux":
        return
    if config.watch.polling:
        yield note(
            "the roots are polled, as configured", fix="irdaemon config set watch.polling false"
        )
        return
    needed, held = count_directories(config), count_held("/proc", os.getuid())
    yield judge_watches(
        needed, _read_limit("max_user_watches", "max_inotify_watches"), held.watches
    )
    yield judge_instances(
        _read_limit("max_user_instances", "max_inotify_instances"), held.instances
    )
    yield judge_event_queue(_read_limit("max_queued_events"))


def judge_open_files(limit: int) -> Finding:
    """Judge the limit on open files."""
    few = f"only {limit:,} files may be open"
    if limit < _LEAST_FILES:
        return wrong(few, fix=f"ulimit -n {_ENOUGH_FILES}")
    if limit < _ENOUGH_FILES:
        cure = f"ulimit -n {4 * _ENOUGH_FILES}, or LimitNOFILE={4 * _ENOUGH_FILES} in its unit"
        return note(f"{few}: only few clients can be connected at once", fix=cure)
    return ok(f"{limit:,} files may be open")


def judge_watches(needed: int, limit: int | None, held: int) -> Finding:
    """Judge the limit on inotify watches against the directories to watch."""
    if limit is None:
        return ok(f"{needed:,} directories to watch, without a limit")
    message = f"{needed:,} directories to watch, {limit:,} watches allowed"
    more = make_sysctl_command(max(524_288, 4 * needed))
    if needed > SHARE * limit:
        return wrong(f"{message}: the largest roots are polled instead", f"{_INOTIFY}", more)
    if held > limit * 0.95:
        return wrong(f"{message}, {held:,} of them taken", f"{_INOTIFY}", more)
    return ok(f"{message}, {held:,} taken")


def judge_instances(limit: int | None, held: int) -> Finding:
    """Judge the limit on inotify instances; one is needed."""
    if limit is None or held < limit:
        return ok(f"{held:,} of {'any' if limit is None else f'{limit:,}'} inotify instances taken")
    message = f"all {limit:,} inotify instances are taken: roots are polled instead"
    return wrong(message, _INOTIFY, _MORE_INSTANCES)


def judge_event_queue(limit: int | None) -> Finding:
    """Judge the length of the kernel's queue of events."""
    if limit is None or limit >= _LEAST_QUEUE:
        return ok("the kernel's queue of events is long enough")
    message = f"the kernel queues only {limit:,} events: a burst costs a full scan"
    return note(message, _INOTIFY, f"sudo sysctl fs.inotify.max_queued_events={_LEAST_QUEUE}")


def count_directories(config: Config) -> int:
    """Count the directories that need a watch."""
    symlinks = Symlinks.from_roots(
        root for each in make_corpora(config) for root in each.source.roots()
    )
    walk = Walk(symlinks)
    return sum(1 for top in sorted(symlinks.roots) for _ in walk.walk_directories(top, is_searched))


def count_held(proc: str, uid: int) -> Held:
    """Count what a user's processes hold, as far as /proc shows."""
    counts = [_count_marks(path) for path in _list_inotify_files(proc, uid)]
    return Held(len(counts), sum(counts))


def _list_inotify_files(proc: str, uid: int) -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir(proc)):
        directory = os.path.join(proc, pid, "fd")
        try:
            if os.stat(directory).st_uid != uid:
                continue
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            try:
                if "inotify" in os.readlink(os.path.join(directory, name)):
                    yield os.path.join(proc, pid, "fdinfo", name)
            except OSError:
                continue


def _count_marks(fdinfo: str) -> int:
    try:
        with open(fdinfo, encoding="ascii", errors="replace") as file:
            return sum(line.startswith("inotify") for line in file)
    except OSError:
        return 0


def _read_limit(name: str, in_namespace: str = "") -> int | None:
    paths = [os.path.join(_INOTIFY, name)]
    paths += [os.path.join(_NAMESPACE, in_namespace)] if in_namespace else []
    return min((value for path in paths if (value := _read_number(path)) is not None), default=None)


def _read_number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


Version = tuple[int, ...]

_PYTHON: Version = (3, 11)
_SQLITE: Version = (3, 35)  # RETURNING
_ZMQ: Version = (4, 1)
_PACKAGES = ("numpy", "watchdog", "apscheduler", "msgpack")


def check_versions(config: Config) -> Iterable[Finding]:
    """Check the versions of the interpreter, the libraries and the client."""
    yield judge_version("Python", sys.version_info[:3], _PYTHON, sys.executable)
    yield judge_version("SQLite", sqlite3.sqlite_version_info, _SQLITE)
    yield judge_version("libzmq", zmq.zmq_version_info(), _ZMQ)
    yield from judge_packages(_PACKAGES)
    yield judge_graphs(is_available(), config.index.hnsw_above)
    yield judge_release(irdaemon.__version__, irclient.__version__)


def judge_version(name: str, version: Version, least: Version, where: str = "") -> Finding:
    """Judge whether a version is recent enough."""
    message = f"{name} {_format_version(version)}"
    if tuple(version) >= least:
        return ok(message, where)
    return wrong(
        f"{message} is older than {_format_version(least)}",
        where,
        f"install irdaemon in an environment of a later Python, from {find_source('irdaemon')}",
    )


def judge_packages(names: Iterable[str]) -> Iterator[Finding]:
    """Yield for each library its version, or that it is missing."""
    for name in names:
        try:
            yield ok(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            yield wrong(f"{name} is not installed", sys.prefix, install_command(name))


def judge_graphs(available: bool, above: int) -> Finding:
    """Judge whether large corpora can be searched by graphs, if configured."""
    if available or not above:
        return ok("hnswlib is installed" if available else "graphs are switched off")
    message = f"hnswlib is not installed: searches of {above:,} or more vectors take longer"
    return note(message, sys.prefix, make_extra_command("graph"))


def judge_release(daemon: str, client: str) -> Finding:
    """Judge whether daemon and client were released together."""
    if daemon == client:
        return ok(f"irdaemon and irclient {daemon}")
    message = f"irdaemon is {daemon}, irclient {client}"
    return wrong(message, sys.prefix, f"install both again, from {find_source('irdaemon')}")


def _format_version(version: Version) -> str:
    return ".".join(map(str, version))


_LEAST_FREE = 200 * MB


def check_directories(config: Config) -> Iterable[Finding]:
    """Check the directories of state, configuration and socket."""
    yield from judge_directory(config.state_dir)
    if os.path.isdir(config.state_dir):
        for name in sorted(os.listdir(config.state_dir)):
            yield from judge_file_mode(os.path.join(config.state_dir, name))
        yield from judge_free_space(config)
    yield from judge_config_file(config.path)
    yield from judge_keys(config)
    yield from judge_directory(os.path.dirname(socket_path()))


def judge_directory(directory: str) -> Iterator[Finding]:
    """Judge a directory that must be this user's alone."""
    shown = shlex.quote(directory)
    try:
        status = os.lstat(directory)
    except FileNotFoundError:
        yield note("does not exist yet; the first start creates it", directory)
        return
    if not stat.S_ISDIR(status.st_mode):
        yield wrong("is not a directory", directory, f"mv {shown} {shown}.old")
    elif status.st_uid != os.getuid():
        yield wrong("belongs to another user", directory, f"sudo chown -R $(id -u) {shown}")
    elif status.st_mode & 0o077:
        yield wrong("is open to other users", directory, f"chmod 700 {shown}")
    elif not _is_writable(directory):
        yield wrong("cannot be written", directory, f"chmod u+rwx {shown}; mount | grep ' ro'")
    else:
        yield ok("is private and can be written", directory)


def judge_file_mode(path: str) -> Iterator[Finding]:
    """Yield a finding if others may open a file of the daemon."""
    mode = os.lstat(path).st_mode
    if stat.S_ISREG(mode) and mode & 0o077:
        yield wrong("is open to other users", path, f"chmod 600 {shlex.quote(path)}")


def judge_config_file(path: str) -> Iterator[Finding]:
    """Judge the configuration file: anyone who can write it can make the daemon load modules."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        yield note(
            "no configuration file; the corpora found here are indexed", path, "irdaemon init"
        )
        return
    if status.st_uid not in (os.getuid(), 0):
        yield wrong("belongs to another user", path, f"sudo chown $(id -u) {shlex.quote(path)}")
    elif status.st_mode & 0o022:
        yield wrong("can be written by other users", path, f"chmod go-w {shlex.quote(path)}")
    else:
        yield ok("can be written by its owner alone", path)


def judge_keys(config: Config) -> Iterator[Finding]:
    """Yield a finding for each missing file of keys or tokens."""
    server = find_server_keys(config)
    if config.serve.tcp and not os.path.lexists(server):
        what = "the daemon's own keys are gone: it does not start"
        yield wrong(what, server, "irdaemon keys make")
    for client in config.clients:
        if client.token and not os.path.lexists(client.token):
            name = shlex.quote(client.name)
            fix = f"irdaemon keys rm {name}; irdaemon keys add {name} --token"
            yield wrong(f"the token of {client.name} is gone: it is turned away", client.token, fix)


def judge_free_space(config: Config) -> Iterator[Finding]:
    """Judge the free space: compaction needs as much as the ledger takes."""
    ledger = os.path.getsize(config.ledger_path) if os.path.exists(config.ledger_path) else 0
    free = shutil.disk_usage(config.state_dir).free
    wanted = max(_LEAST_FREE, 2 * ledger)
    message = f"{free // MB:,} MB free, the ledger takes {ledger // MB:,} MB"
    if free >= wanted:
        yield ok(message, config.state_dir)
    else:
        fix = f"df -h {shlex.quote(config.state_dir)}; free at least {wanted // MB:,} MB"
        yield wrong(f"{message}: too little to compact it", config.state_dir, fix)


def _is_writable(directory: str) -> bool:
    read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
    return not read_only and os.access(directory, os.W_OK | os.X_OK)
