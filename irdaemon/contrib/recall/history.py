"""Ask git about files: their content at a time, and whether commits are on a branch.

Git runs in a child process with limits, without the user's or system's configuration, and without a
network; it only reads the history. Files are compared by git's hash of their content, so no content
is requested.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from irclient.errors import Unavailable
from irdaemon.runtime.pool import Errand, ProcessLimits, run_errand

_LIMITS = ProcessLimits(10.0, 2 * 1024**3)
_MOST_BYTES = 64 * 1024 * 1024
_MOST_COMMITS = 20_000
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}  # fmt: skip
_NO_BLOB = "0"
# A commit and its transcript are timed at different moments of the same work.
_SLACK_S = 60.0


def hash_blob(content: bytes) -> str:
    """Return git's hash of a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class FileChange(NamedTuple):
    """A commit's change of a file: when (Unix seconds), from which content to which."""

    at: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class History:
    """The changes of files since a time, by path and newest first, and their contents at HEAD.

    Paths are relative to the repository.
    """

    changes: Mapping[str, tuple[FileChange, ...]] = field(default_factory=dict)
    head: Mapping[str, str] = field(default_factory=dict)

    def find_blob(self, path: str, is_write: bool, at: float, until: float) -> str:
        """Return a file's hash after a turn that lasted from `at` `until`, "" if unknown.

        For a file that the turn wrote, it is the hash in the turn's commit or the next one, because
        earlier commits do not contain what was written.
        """
        changes = self.changes.get(path, ())
        later = [each for each in changes if each.at > until + (_SLACK_S if is_write else 0.0)]
        if is_write:
            own = [each for each in changes if at <= each.at and each not in later]
            found = own[0].after if own else later[-1].after if later else ""
        else:
            found = later[-1].before if later else self.head.get(path, "")
        return "" if found.strip(_NO_BLOB) == "" else found


def read_history(root: str, since: float) -> History:
    """Return the history of the repository at a root. Raises Unavailable if git fails."""
    log = _run_git(
        root, "log", "-z", "--raw", "--no-abbrev", "--no-renames", "--first-parent", "-m",
        "--no-show-signature", "--format=%x01%ct", f"--max-count={_MOST_COMMITS}",
        f"--since=@{max(0, int(since))}",
    )  # fmt: skip
    tree = _run_git(root, "ls-tree", "-r", "-z", "--full-tree", "HEAD")
    return History(parse_log(log), parse_tree(tree))


def parse_log(printed: bytes) -> dict[str, tuple[FileChange, ...]]:
    """Return the changes by path in the order in which `git log -z --raw` prints them."""
    changes: dict[str, list[FileChange]] = {}
    at, fields = 0, iter(printed.split(b"\0"))
    for token in fields:
        token = token.lstrip(b"\n")
        if token.startswith(b"\x01"):
            at = int(token[1:].strip() or 0)
        elif token.startswith(b":"):
            parts, path = token.split(), next(fields, b"")
            if len(parts) >= 5:
                change = FileChange(at, parts[2].decode(), parts[3].decode())
                changes.setdefault(os.fsdecode(path), []).append(change)
    return {path: tuple(found) for path, found in changes.items()}


def parse_tree(printed: bytes) -> dict[str, str]:
    """Return the hashes by path from the output of `git ls-tree -z`."""
    found = {}
    for token in printed.split(b"\0"):
        about, tab, path = token.partition(b"\t")
        parts = about.split()
        if tab and len(parts) == 3 and parts[1] == b"blob":
            found[os.fsdecode(path)] = parts[2].decode()
    return found


def list_lost_commits(root: str, hashes: Iterable[str], since: float) -> list[str]:
    """Return the commits made since a time that are on no branch, tag or HEAD.

    Raises Unavailable if git fails.
    """
    wanted = list(hashes)
    if not wanted:
        return []
    printed = _run_git(
        root, "rev-list", "--all", "HEAD", f"--since=@{max(0, int(since - _SLACK_S))}"
    )
    held = sorted(printed.decode("ascii", "replace").split())
    return [each for each in wanted if not _has_prefix(held, each)]


def _has_prefix(held: list[str], wanted: str) -> bool:
    at = bisect_left(held, wanted)
    return at < len(held) and held[at].startswith(wanted)


def has_repository(root: str) -> bool:
    """Return whether a root has a repository's directory or file."""
    return os.path.lexists(os.path.join(root, ".git"))


def _run_git(root: str, *words: str) -> bytes:
    git = shutil.which("git")
    if git is None:
        raise Unavailable(
            "git is not installed", "install git; without it, fewer changes are noticed"
        )
    command = [git, "-c", "core.fsmonitor=false", "--no-pager", *words]
    path = {"PATH": os.environ.get("PATH", os.defpath)}
    errand = Errand(command, b"", root, {**path, **_ENVIRONMENT})
    printed = run_errand(errand, _LIMITS, _MOST_BYTES, lambda: True)
    if printed.code != 0:
        said = printed.err.decode("utf-8", "replace").strip().partition("\n")[0]
        raise Unavailable(f"git failed in {root}: {said}", "try git log there")
    return printed.out
