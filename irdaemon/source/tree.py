"""Walk directory trees the way every file source needs it.

Rules: links to directories are followed by the policy of `symlinks`, each real directory once; a
directory that cannot be listed is a problem, and the walk goes on; what is found is reported with
real paths, in a deterministic order. A file that vanishes during a walk counts as gone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from irdaemon.source.ignores import Ignores
from irdaemon.source.locate_project import REPOSITORIES, read_mounts, resolve_place
from irdaemon.source.opening import KERNEL, is_within, resolve_path
from irdaemon.types import Entry, LinkPolicy, Problem, Root, Scan

# Directories that hold no artifacts of their own but can hold millions of files.
PRUNED = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache",
    }
)  # fmt: skip


# Emacs' locks, which are links to nothing, its auto-saves and everybody's backups; Vim's swap files
# and what it tries a directory with; the locks of office programs; files not yet renamed.
_EDITORS = re.compile(
    r"\.#.|#.+#$|\..+\.sw[a-z]$|4913$|\.goutputstream-|\.~lock\..+#$|~\$.|\..+\.kate-swp$"
    r"|\.(?:fuse_hidden|nfs)[0-9a-f]+$"
)
_EDITORS_ENDINGS = ("~", "___jb_tmp___", "___jb_old___", "___jb_bak___")


def is_editor_file(name: str) -> bool:
    """Return whether a file's name is one that a program gives to a lock, backup or draft."""
    return name.endswith(_EDITORS_ENDINGS) or bool(_EDITORS.match(name))


# Suffixes are names that any user may give: only ordinary ones are counted apart, and not too many.
_SUFFIX = re.compile(r"\.\w{1,12}", re.ASCII)
_SUFFIXES_COUNTED = 20


@dataclass(slots=True)
class LeftOut:
    """The counts of files that a scan leaves out, by reason, for some reasons also by suffix."""

    counts: Counter[str] = field(default_factory=Counter)

    def count_suffix(self, why: str, name: str) -> None:
        """Count a file under its suffix."""
        suffix = os.path.splitext(name)[1].lower()
        reason = f"{why}: {suffix if _SUFFIX.fullmatch(suffix) else 'no suffix'}"
        if reason not in self.counts and len(self.counts) >= _SUFFIXES_COUNTED:
            reason = f"{why}: other suffixes"
        self.counts[reason] += 1


@dataclass(slots=True)
class Walk:
    """One walk's memory: real directories seen, and paths that could not be read.

    `reached` maps each real directory to the path by which it was reached, through links or not;
    `passed` are the links to directories out of the roots that the policy does not follow.
    """

    symlinks: Symlinks
    reached: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    ignores: Ignores | None = field(init=False)
    mounts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        limit = self.symlinks.limit
        self.ignores = Ignores((limit,), limit) if limit else None
        self.mounts = list_mounts_inside(limit) if limit else frozenset()

    def walk_directories(
        self, top: str, descend: Callable[[os.DirEntry[str]], bool], max_depth: int = 32
    ) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield (real directory, its sorted entries) from `top`, a real path, down, parents first.

        `descend` decides on each sub-directory. Directories already seen by this walk, through a
        symlink or another root, are not visited again.
        """
        self.reached.setdefault(top, top)
        pending = [] if self._is_left_out(top) else [(top, 0)]
        while pending:
            directory, depth = pending.pop()
            if directory in self.seen:
                continue
            self.seen.add(directory)
            entries = self.list_entries(directory)
            yield directory, entries
            if depth < max_depth:
                below = [e for e in entries if is_directory(e) and descend(e)]
                entered = [path for e in below if (path := self._enter_from(directory, e))]
                pending.extend((path, depth + 1) for path in reversed(entered))

    def _enter_from(self, directory: str, entry: os.DirEntry[str]) -> str:
        if real := self.enter(entry):
            self.reached.setdefault(real, os.path.join(self.reached[directory], entry.name))
        return real

    def enter(self, entry: os.DirEntry[str]) -> str:
        """Return the real path of a sub-directory, "" for a link that is not followed."""
        if not is_link(entry):
            return entry.path
        target = resolve_path(entry.path)
        if danger := self.symlinks.danger(target):
            self.problems.append(Problem(entry.path, f"{danger}; it is not followed"))
        elif self.symlinks.follows(entry.path, target):
            return target
        else:
            self._pass_over(entry.path, target)
        return ""

    def _pass_over(self, link: str, target: str) -> None:
        if self.symlinks.limit:
            reason = f"a link leads to {target}, where no agent looks; it is not followed"
            self.problems.append(Problem(link, reason))
            return
        self.passed.append(link)
        if self.symlinks.policy == "none":
            reason = f"a link leads out of the corpus' roots, to {target}; it is not followed: "
            hint = "add that directory to the roots, or set follow_links = true"
            self.problems.append(Problem(link, reason + hint))

    def list_entries(self, directory: str) -> list[os.DirEntry[str]]:
        """Return the entries of a directory that count, sorted; why it has none is a problem."""
        try:
            with os.scandir(directory) as found:
                return [e for e in sorted(found, key=lambda e: e.name) if self._is_counted(e)]
        except (OSError, ValueError) as error:
            self.problems.append(Problem(directory, _explain(error)))
            return []

    def _is_counted(self, entry: os.DirEntry[str]) -> bool:
        """Leave out editors' files, and as a problem a name that is not text.

        That can be neither stored nor shown.
        """
        if self.ignores and not self._is_inside_project(entry, self.ignores):
            return False
        if is_editor_file(entry.name) and not is_directory(entry):
            return False
        if entry.name.isprintable() or not any("\udc80" <= c <= "\udcff" for c in entry.name):
            return True
        shown = os.fsencode(entry.path).decode("utf-8", "backslashreplace")
        self.problems.append(Problem(shown, "the file name is not valid UTF-8"))
        return False

    def _is_left_out(self, top: str) -> bool:
        """Return whether a directory, or one around it, is mounted in a project or ignored."""
        if self.ignores is None:
            return False
        mounted = any(is_within(top, mount) for mount in self.mounts)
        return mounted or self.ignores.ignores_around(top)

    def _is_inside_project(self, entry: os.DirEntry[str], ignores: Ignores) -> bool:
        """Return whether an entry is the project's: not mounted there, and not ignored by git.

        This comes first: to ask whether a link is a directory reads the status of its target.
        """
        if is_link(entry) and not find_inside(entry.path, self.symlinks.limit):
            reason = "a link leads out of the project; it is not followed"
            self.problems.append(Problem(entry.path, reason))
            return False
        if entry.path in self.mounts:
            return False
        return not ignores.ignores(entry.path, is_directory(entry))


def is_searched(entry: os.DirEntry[str]) -> bool:
    """Descend everywhere but into version control, dependency and cache directories."""
    return entry.name not in PRUNED


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a directory or a symlink to one; a dangling link is neither."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_regular(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a regular file or a symlink to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def make_stamp(*stats: os.stat_result) -> str:
    """Fingerprint files without reading them: size, mtime and ctime in ns, and inode of each.

    The ctime shows a changed permission, and of an older file put in the place of a newer.
    """
    return ";".join(f"{s.st_size}-{s.st_mtime_ns}-{s.st_ctime_ns}-{s.st_ino}" for s in stats)


def is_link(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a symlink; False once it has vanished."""
    try:
        return entry.is_symlink()
    except OSError:
        return False


def resolve_entry(entry: os.DirEntry[str]) -> str:
    """Return the real path of an entry of a directory that was scanned by its own real path."""
    return resolve_path(entry.path) if is_link(entry) else entry.path


def is_repository(directory: str) -> bool:
    """Return whether a directory is a repository: below another's root it is its own project."""
    return any(os.path.lexists(os.path.join(directory, name)) for name in REPOSITORIES)


def list_mounts_inside(root: str) -> frozenset[str]:
    """Return the mount points strictly inside a project: another machine may answer for them."""
    mounted = (path for path, _, _ in read_mounts() or ())
    return frozenset(path for path in mounted if path != root and is_within(path, root))


def resolve_root(root: Root) -> str:
    """Return the real path of a root, "" where it leads out of the project that it belongs to."""
    return find_inside(root.path, root.within) if root.within else resolve_path(root.path)


def find_inside(path: str, top: str) -> str:
    """Return the real path of a path in a real directory, "" where a link leads out of that.

    The target of a link out of it is not read: another machine may serve it.
    """

    def is_beside(here: str) -> bool:
        return not (is_within(here, top) or is_within(top, here))

    try:
        real, is_out = resolve_place(path, is_beside, top=top if is_within(path, top) else "/")
    except (OSError, ValueError):  # no file can have such a name
        return ""
    return real if is_within(real, top) and not is_out else ""


def shorten_path(path: str) -> str:
    """Shorten a path under the home directory to `~/...`: the form ids are shown in."""
    home = _find_home(os.path.expanduser("~"))
    return "~" + path[len(home) :] if home and path.startswith(home + "/") else path


@lru_cache(maxsize=8)
def _find_home(home: str) -> str:
    return resolve_path(home).rstrip("/")


def check_root(root: Root) -> Problem | None:
    """Return the problem with a root that is not a readable directory, else None."""
    try:
        with os.scandir(root.path):
            return None
    except FileNotFoundError:
        return Problem(root.path, "nothing is at this path")
    except NotADirectoryError:
        return Problem(root.path, "a file, where a directory is expected")
    except (OSError, ValueError) as error:
        return Problem(root.path, _explain(error))


def _explain(error: OSError | ValueError) -> str:
    """Return why a directory cannot be listed; a ValueError is about a name no file can have."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


EVERYTHING = ""


def make_entry(path: str, scope: str, *stats: os.stat_result, key: str = "") -> Entry:
    """Make the entry at a real path, stamped by the status of all the files it is read from."""
    newest = max((status.st_mtime_ns for status in stats), default=0)
    return Entry(key or shorten_path(path), path, make_stamp(*stats), newest, scope)


def make_scan(
    entries: Iterable[Entry],
    where: str,
    problems: Iterable[Problem],
    left_out: Mapping[str, int] | None = None,
) -> Scan:
    """Make the scan that covers `where`: entries by their keys, and the problems around it."""
    around = [p for p in problems if is_within(p.path, where) or is_within(where, p.path)]
    ordered = sorted(entries, key=lambda entry: entry.key)
    return Scan(tuple(ordered), (where,), tuple(dict.fromkeys(around)), left_out or {})


def confine_change(under: str, tops: tuple[str, ...]) -> str:
    """Return the path that what changed at `under` is confined to, or EVERYTHING.

    `tops` are the real paths of the roots. A link inside a root can lead anywhere; so can a root
    itself and what lies above it. A name that vanished may have been a link, but then
    the watcher names the roots as well; a whole scan at each deletion would cost seconds.
    """
    if any(is_within(top, under) for top in tops):
        return EVERYTHING
    if any(is_within(under, top) for top in tops) and os.path.islink(under):
        return EVERYTHING
    return under


@dataclass(frozen=True, slots=True)
class Symlinks:
    """Which links below a corpus' roots, given by their real paths, are followed.

    `within` are further directories into which a link may lead. What a policy allows is written at
    `LinkPolicy`. `limit` is the root of the project that the roots belong to, "" for none: a link
    out of it is not read.
    """

    roots: tuple[str, ...] = ()
    policy: LinkPolicy = "direct"
    within: tuple[str, ...] = ()
    limit: str = ""

    @classmethod
    def from_roots(cls, roots: Iterable[Root]) -> Symlinks:
        """Return the rule of a corpus' roots, which all have one policy."""
        given = tuple(roots)
        tops = dict.fromkeys(filter(None, map(resolve_root, given)))
        policy = given[0].links if given else "direct"
        return cls(tuple(tops), policy, limit=given[0].within if given else "")

    def add_top(self, path: str) -> Symlinks:
        """Return the rule that also follows links to paths below `path`."""
        return replace(self, within=(*self.within, path))

    def danger(self, target: str) -> str:
        """Return why no link may lead to a directory under any policy; "" where one may."""
        if self._is_inside(target):
            return ""
        if any(is_within(target, top) for top in KERNEL):
            return f"a link leads to {target}: there are no documents in it"
        if any(
            is_within(top, target) for top in (*self.roots, resolve_path(os.path.expanduser("~")))
        ):
            return f"a link leads to {target}, which is above the corpus' roots or a whole home"
        if os.path.ismount(target):
            return f"a link leads to {target}, which is a whole file system"
        return ""

    def follows(self, link: str, target: str) -> bool:
        """Return whether a link that is not dangerous is followed."""
        if self._is_inside(target) or self.policy == "any":
            return True
        return self.policy == "direct" and self.is_direct(link)

    def _is_inside(self, target: str) -> bool:
        return any(is_within(target, top) for top in (*self.roots, *self.within))

    def is_direct(self, link: str) -> bool:
        """Return whether a link lies directly in a root, or in a scope (`@name`) of npm's there."""
        directory = os.path.dirname(link)
        if os.path.basename(directory).startswith("@"):
            return directory in self.roots or os.path.dirname(directory) in self.roots
        return directory in self.roots


# The expected contents of a corpus by the paths of files alone: the measure of its coverage.

PRUNED_REASON = "version control, dependencies, caches"


@dataclass(frozen=True, slots=True)
class SeenPath:
    """A file or directory met below a root.

    `path` is in a real directory, `relative` is the path below the root by which it was reached,
    and `top` the real path of that root. Of a root that is a file, `path` is `top`. `is_link` is
    whether it is a symbolic link itself.
    """

    path: str
    relative: str
    top: str
    is_link: bool = False

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return os.path.basename(self.path)

    @property
    def depth(self) -> int:
        """Return how many directories lie between the root and this."""
        return self.relative.count(os.sep)


# Why something is left out: "" where it is not, None where it is not counted.
Judge = Callable[[SeenPath], str | None]


def get_path(seen: SeenPath) -> str:
    """Return the path of the entry that a file is."""
    return seen.path


def get_directory(seen: SeenPath) -> str:
    """Return the path of the entry whose directory holds a telling file."""
    return os.path.dirname(seen.path)


@dataclass(frozen=True, slots=True)
class Expected:
    """Which files should be entries, and which directories may hold any.

    `entry` gives the path of the entry that a file tells of.
    """

    file: Judge
    directory: Judge
    entry: Callable[[SeenPath], str] = get_path


def explain_skip(seen: SeenPath, max_depth: int) -> str:
    """Return why a directory is not searched by sources that search a few levels deep."""
    if seen.name in PRUNED:
        return PRUNED_REASON
    return f"deeper than {max_depth} levels" if seen.depth >= max_depth else ""
