"""The limits of inotify: watches per user, and file systems whose changes raise no event."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.source.opening import is_within
from irdaemon.source.tree import PRUNED

# The watcher's settings, and the callback for its hints.

Report = Callable[[str, str, str], None]
"""Takes a dirty path, the top it lies beneath ("": none), and the root it is watched for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the watcher; every duration is in seconds.

    `ignored` are absolute paths never watched nor hinted (the daemon's own state). `pruned` are
    names of directories that are not entered. `cookies` is a directory of the daemon, in which a
    file proves that all earlier events have been read ("": no proof). `polling` polls every root.
    Every `probe_interval` a probe checks that events are still read; a backend that fails
    `failed_probes` probes in a row is replaced. `max_watches` overrides the share of the user's
    inotify watches that may be used. `settle`, `max_wait`, `eager` and `limit` are the Debouncer's.
    """

    ignored: tuple[str, ...] = ()
    cookies: str = ""
    pruned: frozenset[str] = PRUNED
    polling: bool = False
    poll_interval: float = 5.0
    retry_interval: float = 300.0
    probe_interval: float = 30.0
    failed_probes: int = 3
    settle: float = 0.02
    max_wait: float = 2.0
    eager: int = 4
    limit: int = 512
    max_watches: int | None = None


# Changes made on another machine (or by the host of a virtual one) raise no event here.
NETWORK = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse.cephfs", "fuse.glusterfs",
        "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "lustre", "ncpfs", "nfs",
        "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs",
    }
)  # fmt: skip

# All of a user's programs share the limit: an editor needs watches too.
SHARE = 0.75

_WATCHES = "/proc/sys/fs/inotify/max_user_watches"
MOUNTS = "/proc/self/mounts"


@dataclass(frozen=True, slots=True)
class Unwatchable:
    """Why a root cannot be watched, and how many directories it has (0: not counted)."""

    reason: str
    directories: int = 0


class LimitReached(Exception):
    """The system allows no more watches."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system."""

    path: str
    kind: str


def read_watch_budget(limit_file: str = _WATCHES) -> int | None:
    """Return how many inotify watches to use at most, None if there is no such limit."""
    try:
        with open(limit_file) as file:
            return int(int(file.read()) * SHARE)
    except (OSError, ValueError):
        return None


def explain_too_many(directories: int, budget: int | None) -> Unwatchable:
    """Return why a root of so many directories cannot be watched, and which limit to raise."""
    room = f"than the {budget:,} this daemon may take"
    if budget is None or directories <= budget:
        room = "than other programs of this user have left"
    wanted = max(524_288, 2 * directories)
    return Unwatchable(
        f"{directories:,} directories need more inotify watches {room};"
        f" raise it with: {make_sysctl_command(wanted)}",
        directories,
    )


def make_sysctl_command(watches: int) -> str:
    """Return the command that allows a user this many inotify watches."""
    return f"sudo sysctl fs.inotify.max_user_watches={watches}"


def explain_no_inotify(error: OSError) -> Unwatchable:
    """Return why inotify could not be started."""
    if error.errno == errno.EMFILE:
        raised = "sudo sysctl fs.inotify.max_user_instances=1024"
        return Unwatchable(
            f"no inotify instance or file descriptor is left; raise it with: {raised}"
        )
    return Unwatchable(f"inotify is not available: {error.strerror or error}")


def find_network_kind(path: str, mounts: tuple[Mount, ...]) -> str:
    """Return the type of the network file system of `path`, "" if it is local."""
    holding = [mount for mount in mounts if is_within(path, mount.path)]
    # Of two mounts at one place the later hides the earlier.
    nearest = max(enumerate(holding), key=lambda m: (len(m[1].path), m[0]), default=None)
    return nearest[1].kind if nearest is not None and nearest[1].kind in NETWORK else ""


def list_mounts(mounts_file: str = MOUNTS) -> tuple[Mount, ...]:
    """Return the mounts in mount order; () on systems that do not list them."""
    try:
        with open(mounts_file, encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split(" ") for line in file.read().splitlines()]
    except OSError:
        return ()
    # The kernel writes spaces and tabs in paths as octal escapes.
    return tuple(
        Mount(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), row[1]), row[2])
        for row in rows
        if len(row) > 2
    )
