"""Check that the system allows what watching the roots needs."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irdaemon.cli.doctor.finding import Finding, note, ok, wrong
from irdaemon.config.config import Config
from irdaemon.config.corpus import corpora_of
from irdaemon.source.tree import Symlinks, Walk, is_searched
from irdaemon.watch.limits import SHARE, raised_to

_INOTIFY = "/proc/sys/fs/inotify"
# Inside a container or another user namespace these are the lower ones.
_NAMESPACE = "/proc/sys/user"
_LEAST_QUEUE = 16_384
_LEAST_FILES = 256
_ENOUGH_FILES = 1_024
_MORE_INSTANCES = "sudo sysctl fs.inotify.max_user_instances=1024"


@dataclass(frozen=True, slots=True)
class Held:
    """How many inotify instances and watches this user's programs hold."""

    instances: int
    watches: int


def check(config: Config) -> Iterable[Finding]:
    """Yield how the limits on inotify and on open files are against what is needed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The daemon raises the soft limit up to the hard one.
    most = soft if hard == resource.RLIM_INFINITY else hard
    yield open_files(min(config.limits.open_files or most, most))
    if sys.platform != "linux":
        return
    if config.watch.polling:
        yield note("the roots are polled, as configured", fix="[watch] polling = false")
        return
    needed, held = directories(config), held_now("/proc", os.getuid())
    yield watches(needed, _limit("max_user_watches", "max_inotify_watches"), held.watches)
    yield instances(_limit("max_user_instances", "max_inotify_instances"), held.instances)
    yield queue(_limit("max_queued_events"))


def open_files(limit: int) -> Finding:
    """Judge the limit on open files."""
    few = f"only {limit:,} files may be open"
    if limit < _LEAST_FILES:
        return wrong(few, fix=f"ulimit -n {_ENOUGH_FILES}")
    if limit < _ENOUGH_FILES:
        cure = f"ulimit -n {4 * _ENOUGH_FILES}, or LimitNOFILE={4 * _ENOUGH_FILES} in its unit"
        return note(f"{few}: only few clients can be connected at once", fix=cure)
    return ok(f"{limit:,} files may be open")


def watches(needed: int, limit: int | None, held: int) -> Finding:
    """Judge the limit on inotify watches against the directories to watch."""
    if limit is None:
        return ok(f"{needed:,} directories to watch, without a limit")
    message = f"{needed:,} directories to watch, {limit:,} watches allowed"
    more = raised_to(max(524_288, 4 * needed))
    if needed > SHARE * limit:
        return wrong(f"{message}: the largest roots are polled instead", f"{_INOTIFY}", more)
    if held > limit * 0.95:
        return wrong(f"{message}, of which {held:,} are taken already", f"{_INOTIFY}", more)
    return ok(f"{message}, {held:,} taken")


def instances(limit: int | None, held: int) -> Finding:
    """Judge the limit on inotify instances; one is needed."""
    if limit is None or held < limit:
        return ok(f"{held:,} of {'any' if limit is None else f'{limit:,}'} inotify instances taken")
    message = f"all {limit:,} inotify instances are taken: roots are polled instead"
    return wrong(message, _INOTIFY, _MORE_INSTANCES)


def queue(limit: int | None) -> Finding:
    """Judge the length of the kernel's queue of events."""
    if limit is None or limit >= _LEAST_QUEUE:
        return ok("the kernel's queue of events is long enough")
    message = f"the kernel queues only {limit:,} events: a burst costs a full scan"
    return note(message, _INOTIFY, f"sudo sysctl fs.inotify.max_queued_events={_LEAST_QUEUE}")


def directories(config: Config) -> int:
    """Count the directories that need a watch."""
    symlinks = Symlinks.of(root for each in corpora_of(config) for root in each.source.roots())
    walk = Walk(symlinks)
    return sum(1 for top in sorted(symlinks.roots) for _ in walk.directories(top, is_searched))


def held_now(proc: str, uid: int) -> Held:
    """Count what the processes of a user hold, as far as /proc shows."""
    counts = [_marks(path) for path in _inotify_files(proc, uid)]
    return Held(len(counts), sum(counts))


def _inotify_files(proc: str, uid: int) -> Iterator[str]:
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


def _marks(fdinfo: str) -> int:
    try:
        with open(fdinfo, encoding="ascii", errors="replace") as file:
            return sum(line.startswith("inotify") for line in file)
    except OSError:
        return 0


def _limit(name: str, in_namespace: str = "") -> int | None:
    paths = [os.path.join(_INOTIFY, name)]
    paths += [os.path.join(_NAMESPACE, in_namespace)] if in_namespace else []
    return min((value for path in paths if (value := _number(path)) is not None), default=None)


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
