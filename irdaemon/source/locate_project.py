"""Find the project that a place lies in: run by `projects` in a child process, as a file alone.

    python -P locate_project.py < REQUEST

The request is JSON: `place`, `home`, `uid`, `roots`, `ignore`. Printed is JSON, too: `root`,
`marks` and the real `place`, or the `reason` why there is no project, or the `problem` with the
place itself.

Links are followed one at a time, and each directory on the way is held against the list of mounts
before anything asks the system about it: a server that is gone would not answer.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

REPOSITORIES = (".git", ".hg", ".jj")
MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml", "go.mod")
AGENT_DIRECTORIES = tuple(
    """.agent .agents .augment .claude .cline .clinerules .codex .continue .crush .cursor .factory
    .gemini .goose .junie .kilocode .kiro .opencode .openhands .pi .qwen .roo .trae .vibe .windsurf
    .zencoder""".split()
)
MARKER = ".noirdaemon"

_REQUIREMENTS = re.compile(r"requirements.*\.txt\Z")
# How many names of a directory are checked for those.
_NAMES = 10_000
_LINKS = 40
# Directories of the system are no projects themselves, wherever HOME and the roots lie.
_SYSTEM = frozenset(
    """/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /nix /opt /proc /root /run /sbin
    /snap /srv /sys /tmp /usr /usr/lib /usr/local /usr/share /usr/src /var /var/lib /var/tmp
    /Applications /Library /System /Users /Volumes /private /private/tmp /private/var""".split()
)
# What another machine, or another process, answers for.
_REMOTE = frozenset(
    """9p acfs afs autofs beegfs ceph cifs coda davfs drvfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs
    nfs4 ocfs2 orangefs panfs prl_fs proc pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs
    wekafs""".split()
)
_SOURCE = re.compile(r"//|[^/]+:/")  # //server/share, server:/export

# (mount point, type, source), in the order in which they were mounted.
Mounts = Sequence[tuple[str, str, str]]


class _NoProject(Exception):
    """There is no project, and why."""


class _BadPlace(Exception):
    """The place is no directory that can be read, and why."""


def read_mounts(path: str = "/proc/self/mounts") -> Mounts | None:
    """Return the mounts; None where the system does not say."""
    try:
        with open(path, "rb") as file:
            return parse_mounts(file.read())
    except OSError:
        return None


def parse_mounts(data: bytes) -> Mounts:
    """Parse /proc/self/mounts, whose names have blanks and backslashes written in octal."""
    lines = (line.split(b" ") for line in data.split(b"\n"))
    return [(_unescape(f[1]), _unescape(f[2]), _unescape(f[0])) for f in lines if len(f) > 2]


def _unescape(field: bytes) -> str:
    return os.fsdecode(
        re.sub(rb"\\([0-3][0-7]{2})", lambda match: bytes([int(match[1], 8)]), field)
    )


def is_within(path: str, top: str) -> bool:
    """Return whether `path` is `top` or lies beneath it."""
    return path == top or path.startswith(top.rstrip("/") + "/")


def find_mount(path: str, mounts: Mounts) -> tuple[str, str, str]:
    """Return the mount that a real path lies on; of two at one place the later hides the other."""
    around = [mount for mount in mounts if is_within(path, mount[0])]
    return max(reversed(around), key=lambda mount: len(mount[0]), default=("", "", ""))


def find_remote(path: str, mounts: Mounts) -> str:
    """Return the type of the network, FUSE or autofs mount that a path lies on, "" for others."""
    _, kind, source = find_mount(path, mounts)
    remote = kind in _REMOTE or kind.startswith("fuse") or _SOURCE.match(source)
    return kind if remote else ""


def resolve_place(
    path: str,
    is_closed: Callable[[str], bool],
    is_open: Callable[[str], bool] = lambda whole: False,
    top: str = "/",
) -> tuple[str, bool]:
    """Return the real path of an absolute one, and whether it goes where nothing may be touched.

    `is_closed` is asked about each directory on the way before the system is; of one that is
    closed `is_open` is asked about the whole path as it is known then. `top` is a directory around
    the path that is known to be real. Raises OSError where links go round in circles.
    """
    real, links = top, 0
    pending = path[len(top) :].split("/")[::-1]
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            real = os.path.dirname(real)
            continue
        here = os.path.join(real, part)
        if is_closed(here):
            whole = os.path.normpath(os.path.join(here, *reversed(pending)).rstrip("/"))
            if not is_open(whole):
                return whole, True
        try:
            target = os.readlink(here)
        except OSError:  # no link, or nothing
            real = here
            continue
        links += 1
        if links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        real = "/" if target.startswith("/") else real
        pending.extend(reversed(target.split("/")))
    return real, False


class Locator:
    """Locate projects by the rules of one request; `mounts` is None where they are unknown."""

    def __init__(self, request: Mapping[str, Any], mounts: Mounts | None):
        self._mounts = mounts or []
        self._uid = int(request["uid"])
        self._tops: list[str] = []
        self._home, self._home_closed = self._resolve(request["home"])
        # As far as that touches nothing remote: what lies below them may be.
        self._tops = [self._resolve(top)[0] for top in request["roots"]]
        self._ignored = [
            *request["ignore"],
            *(self._resolve(each)[0] for each in request["ignore"]),
        ]

    def locate(self, place: str) -> tuple[str, list[str], str]:
        """Return the root of the project around a place, its marks, and the real path of the place.

        Raises _NoProject, and _BadPlace.
        """
        real = self._check_place(place)
        if any(is_within(each, ignored) for each in (place, real) for ignored in self._ignored):
            raise _NoProject(f"{real} is in [projects] ignore")
        if marked := next(filter(self._opts_out, _list_above(real)), ""):
            raise _NoProject(f"{os.path.join(marked, MARKER)} keeps it out")
        candidates = [each for each in _list_above(real) if self._may_be_project(each)]
        if not candidates:
            raise _NoProject(self._explain_outside(real))
        root = next((each for each in candidates if list_marks(each, REPOSITORIES)), "")
        root = root or next((each for each in reversed(candidates) if list_marks(each)), "")
        if not root:
            raise _NoProject(f"no repository, manifest or agent directory is at or above {real}")
        self._check_root(root)
        return root, list_marks(root), real

    def _resolve(self, path: str) -> tuple[str, bool]:
        return resolve_place(path, self._is_remote, self._is_allowed)

    def _is_remote(self, path: str) -> bool:
        return bool(find_remote(path, self._mounts))

    def _is_allowed(self, path: str) -> bool:
        return any(is_within(path, top) for top in self._tops)

    def _check_place(self, place: str) -> str:
        """Return the real path of a place that is a readable directory."""
        try:
            real, closed = self._resolve(place)
            if closed:
                raise _NoProject(self._explain_closed(real))
            mode = os.stat(real).st_mode
        except FileNotFoundError:
            raise _BadPlace("there is no such directory") from None
        except OSError as error:
            raise _BadPlace(f"it cannot be read: {error.strerror}") from None
        if not stat.S_ISDIR(mode):
            raise _BadPlace("it is not a directory")
        if not os.access(real, os.R_OK | os.X_OK):
            raise _BadPlace(f"it cannot be read: {os.strerror(errno.EACCES)}")
        return real

    def _explain_closed(self, path: str) -> str:
        kind = find_remote(path, self._mounts)
        mounted = find_mount(path, self._mounts)[0]
        return (
            f"{mounted} is a mount of type {kind}, where nothing is read but below [projects] roots"
        )

    def _opts_out(self, directory: str) -> bool:
        closed = self._is_remote(directory) and not self._is_allowed(directory)
        return not closed and os.path.lexists(os.path.join(directory, MARKER))

    def _may_be_project(self, directory: str) -> bool:
        if directory in _SYSTEM or is_within(self._home, directory):
            return False
        return is_within(directory, self._home) or self._is_allowed(directory)

    def _explain_outside(self, real: str) -> str:
        if real == self._home:
            return f"{real} is the home directory itself"
        if real in _SYSTEM:
            return f"{real} is a directory of the system"
        return f"{real} is not below {self._home}, nor below [projects] roots"

    def _check_root(self, root: str) -> None:
        status = os.stat(root)
        if not any(self._is_beside(root, status, base) for base in self._list_bases(root)):
            raise _NoProject(
                f"{root} is on another file system than {self._home}; [projects] roots can name it"
            )
        if status.st_uid != self._uid:
            raise _NoProject(f"{root} belongs to another user")
        if why := explain_writers(root, status):
            raise _NoProject(f"{root} may be written by {why}: chmod go-w makes it a project")
        try:
            root.encode()
        except UnicodeEncodeError:
            raise _NoProject("its path is not valid UTF-8") from None

    def _list_bases(self, root: str) -> list[str]:
        own = [self._home] if is_within(root, self._home) and not self._home_closed else []
        return [*own, *(top for top in self._tops if is_within(root, top))]

    def _is_beside(self, root: str, status: os.stat_result, base: str) -> bool:
        """Return whether a root is on the file system of a directory around it.

        A subvolume has a device number of its own, a second mount of one file system has not.
        """
        if self._mounts and find_mount(root, self._mounts) == find_mount(base, self._mounts):
            return True
        try:
            return os.stat(base).st_dev == status.st_dev
        except OSError:
            return False


def _list_above(directory: str) -> Iterator[str]:
    """Yield a directory and those above it."""
    while True:
        yield directory
        if directory == "/":
            return
        directory = os.path.dirname(directory)


def list_marks(directory: str, names: Sequence[str] = ()) -> list[str]:
    """Return the names by which a directory is recognised as a project; `names` alone if given."""
    found = [
        name
        for name in names or (*REPOSITORIES, *MANIFESTS, *AGENT_DIRECTORIES)
        if _is_mark(os.path.join(directory, name), name)
    ]
    return found if names else [*found, *_list_requirements(directory)]


def _is_mark(path: str, name: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    if name in REPOSITORIES:
        return True  # a directory, or of a worktree a file
    return stat.S_ISLNK(mode) or (stat.S_ISREG if name in MANIFESTS else stat.S_ISDIR)(mode)


def _list_requirements(directory: str) -> list[str]:
    found: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry, _ in zip(entries, range(_NAMES), strict=False):
                if _REQUIREMENTS.match(entry.name) and not entry.is_dir(follow_symlinks=False):
                    found.append(entry.name)
    except OSError:
        pass
    return sorted(found)[:10]


def explain_writers(path: str, status: os.stat_result) -> str:
    """Return who except its owner may write into a directory, "" for nobody."""
    if status.st_mode & stat.S_IWOTH:
        return "everybody"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(path, status):
        return "its group"
    return ""


def _is_private_group(path: str, status: os.stat_result) -> bool:
    """Return whether a directory's group is its owner's own, of which nobody else is a member.

    Where each user has such a group, new directories are open to it. With an access list the bits
    of the group are those of everybody on it.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
        has_list = "system.posix_acl_access" in os.listxattr(path) if _HAS_LISTS else False
    except (KeyError, OSError):
        return False
    own = (group.gr_gid, group.gr_name) == (user.pw_gid, user.pw_name)
    return own and not has_list and set(group.gr_mem) <= {user.pw_name}


_HAS_LISTS = hasattr(os, "listxattr")


def locate(request: Mapping[str, Any], mounts: Mounts | None) -> dict[str, Any]:
    """Return what to print for a request."""
    if mounts is None and sys.platform == "linux":
        return {"reason": "what is mounted is not known: /proc/self/mounts cannot be read"}
    try:
        root, marks, place = Locator(request, mounts).locate(request["place"])
    except _NoProject as none:
        return {"reason": str(none)}
    except _BadPlace as bad:
        return {"problem": str(bad)}
    except OSError as error:  # something on the way has changed
        return {"reason": f"it cannot be examined: {error.strerror}"}
    return {"root": root, "marks": marks, "place": place}


if __name__ == "__main__":
    asked = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(locate(asked, read_mounts()) if asked else {}))
