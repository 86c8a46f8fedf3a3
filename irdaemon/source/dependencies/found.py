"""What looking for the dependencies of a project gives, and how its files are read meanwhile.

A checkout is another person's text. From its manifests come names that the ecosystem allows, and
versions; a path counts only where it leads back into the project.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from irdaemon.source.ignores import Ignores
from irdaemon.source.opening import is_text, is_within, open_regular, read_regular
from irdaemon.source.packages.manifest import MANIFEST_LIMIT, Manifest, clean_text
from irdaemon.source.packages.readme import read_readme
from irdaemon.source.tree import PRUNED, find_inside, is_repository
from irdaemon.types import Problem, Refused, SourceError

# A lock lists what dependencies depend on, too, and may be large in earnest.
LOCK_LIMIT = 16 * 1024 * 1024
# Beyond these nobody has written down where a project's packages are.
MOST_MEMBERS = 2_000
_MOST_TOPS = 100
_VERSION_CHARS = 200
# A version as npm and Cargo have them, which may become a part of a path.
VERSION = re.compile(r"\d[\w.+-]{0,99}\Z", re.ASCII)
# Of texts that are read for the names in them.
EXPORTS_BYTES = 65_536
MOST_EXPORTS = 300
_LINE = re.compile(r"[^\n]+")
_LINE_CHARS = 32_768
CUT = "it ends in the middle of a line; versions that it has lost are unknown"

Origin = Literal["installed", "locked", "range"]


@dataclass(frozen=True, slots=True)
class Options:
    """How to look: the `environment` of Python, "" for the project's own, and the most to find."""

    environment: str = ""
    max: int = 20_000


@dataclass(frozen=True, slots=True)
class Dependency:
    """A direct dependency of a project, or (`own`) a package of its workspace.

    `version` is the installed one, else that of the lock, else "" (`origin` says which); `wanted`
    is what the manifest asks for. `manifest` is the path of that below the project's root, `also`
    are the others that ask for it. `directory` is the real path of its text, "" where there is
    none; `note` says why, where that is not plain.
    """

    ecosystem: str
    name: str
    version: str = ""
    wanted: str = ""
    origin: Origin = "range"
    manifest: str = ""
    directory: str = ""
    dev: bool = False
    own: bool = False
    note: str = ""
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The dependencies of one ecosystem, and the manifests and locks that were read for them.

    `notes` are about all of them; `left_out` counts by reason what is none.
    """

    dependencies: tuple[Dependency, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PackageText:
    """What is read of a dependency: its manifest, its README, and the names it exports.

    `pointer` is the file or directory that shows it.
    """

    manifest: Manifest
    pointer: str
    readme: str = ""
    exports: tuple[str, ...] = ()
    digest: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A line of a manifest: who asks for which dependency; `member` is that one's directory."""

    name: str
    wanted: str
    member: str
    manifest: str
    dev: bool = False
    peer: bool = False


def make_dependency(
    ecosystem: str, chosen: Request, requests: Sequence[Request], version: str, directory: str
) -> Dependency:
    """Return what several requests for one name are of: the chosen one, found at that version."""
    return Dependency(
        ecosystem,
        chosen.name,
        version,
        chosen.wanted,
        "installed" if directory else "locked" if version else "range",
        chosen.manifest,
        directory,
        all(each.dev for each in requests),
        also=tuple(dict.fromkeys(r.manifest for r in requests if r.manifest != chosen.manifest)),
    )


def group_requests(requests: Iterable[Request]) -> dict[str, list[Request]]:
    """Return the requests by name, in their order."""
    groups: dict[str, list[Request]] = {}
    for request in requests:
        groups.setdefault(request.name, []).append(request)
    return groups


def clean_version(value: object) -> str:
    """Return a version or range as one line of printable characters."""
    shown = "".join(filter(str.isprintable, clean_text(value)[:_VERSION_CHARS]))
    scheme, separator, rest = shown.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path


@dataclass(slots=True)
class ProjectFiles:
    """Read the files of a project, and collect what is to be said about them.

    `root` is a real path. Nothing is opened outside of it, and no manifest that git ignores.
    """

    root: str
    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    ignores: Ignores = field(init=False)
    _apart: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ignores = Ignores((self.root,), self.root)

    def read_text(self, path: str, limit: int = MANIFEST_LIMIT) -> str | None:
        """Return the text of a manifest or lock; None where there is none.

        One that cannot be read is a problem.
        """
        try:
            real = find_inside(path, self.root)
            if not real:
                raise Refused(f"{path}: a link leads out of the project", "remove the link")
            # A lock belongs to the installation, which git ignores, too.
            if limit != LOCK_LIMIT and self.ignores.ignores_file(real):
                return None
            data = read_regular(real, limit)
        except FileNotFoundError:
            return None
        except SourceError as error:
            self.complain(path, error)
            return None
        self.files.append(path)
        return data.decode("utf-8-sig", "replace")

    def complain(self, path: str, error: SourceError | str) -> None:
        """Note a problem with a file."""
        reason = error if isinstance(error, str) else error.message.removeprefix(f"{path}: ")
        self.problems.append(Problem(path, reason))

    def resolve(self, directory: str, path: str) -> str:
        """Return the real path that a relative one leads to from a directory; "" if that is out."""
        if "\0" in path:
            return ""
        real = find_inside(os.path.join(directory, path), self.root)
        return real if is_text(real) else ""

    def resolve_named(self, directory: str, path: str) -> str:
        """Resolve a path that a manifest names; "" for what is another repository's, or ignored."""
        real = self.resolve(directory, path)
        return "" if self.is_apart(real) or self.ignores.ignores_around(real) else real

    def is_apart(self, path: str) -> bool:
        """Return whether a real path lies in a repository inside of the project."""
        passed: list[str] = []
        while path.startswith(self.root + "/") and path not in self._apart:
            passed.append(path)
            if is_repository(path):
                self._apart[path] = True
                break
            path = os.path.dirname(path)
        found = self._apart.get(path, False)
        self._apart.update(dict.fromkeys(passed, found))
        return found

    def has_file(self, directory: str, name: str) -> bool:
        """Return whether a file is in a directory, or leads from there to one in the project."""
        real = self.resolve(directory, name)
        return bool(real) and os.path.isfile(real)

    def shorten(self, path: str) -> str:
        """Return a path as it is below the root."""
        return os.path.relpath(path, self.root)

    def list_tops(self, manifest: str) -> Iterator[str]:
        """Yield where an ecosystem's workspaces begin: at the root, or else directly below it."""
        if os.path.lexists(os.path.join(self.root, manifest)):
            yield self.root
            return
        names = (entry.name for entry in list_directories(self.root))
        below = (os.path.join(self.root, name) for name in sorted(names))
        tops = [top for top in below if os.path.lexists(os.path.join(top, manifest))]
        yield from tops[:_MOST_TOPS]

    def report(self, dependencies: Iterable[Dependency], options: Options) -> Found:
        """Return what was found, up to the most that may be."""
        found: list[Dependency] = []
        for dependency in dependencies:
            if len(found) == options.max:
                where = f"{self.root}#{dependency.ecosystem}"
                reason = f"more than {options.max:,} direct dependencies; the others are left out"
                self.complain(where, reason)
                break
            found.append(dependency)
        return Found(
            tuple(found),
            tuple(dict.fromkeys(self.files)),
            tuple(dict.fromkeys(self.problems)),
            tuple(self.notes),
            dict(self.left_out),
        )


def list_directories(path: str) -> list[os.DirEntry[str]]:
    """Return the directories in a directory that may hold packages of the project; no links."""
    try:
        with os.scandir(path) as entries:
            return [each for each in entries if _may_hold_packages(each)]
    except (OSError, ValueError):
        return []


def _may_hold_packages(entry: os.DirEntry[str]) -> bool:
    try:
        plain = entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
    hidden = entry.name.startswith(".") or entry.name in PRUNED
    return plain and not hidden and is_text(entry.name) and not is_repository(entry.path)


def describe_directory(path: str, manifest: Manifest, exports: Iterable[str] = ()) -> PackageText:
    """Return the text of a package by the path of its manifest: the README beside it shows it."""
    directory = os.path.dirname(path)
    readme = read_readme(directory, by_name=False)
    pointer = directory if readme.digest else path
    names = tuple(dict.fromkeys(exports))
    return PackageText(manifest, pointer, readme.text, names, readme.digest, readme.flags)


def read_beginning(path: str, directory: str, limit: int) -> str:
    """Return the beginning of a text in a directory, by a real path; "" for any other."""
    if not is_within(path, directory):
        return ""
    try:
        with open_regular(path) as file:
            return file.read(max(0, limit)).decode("utf-8", "replace")
    except (OSError, SourceError):
        return ""


def split_lines(source: str) -> Iterator[str]:
    """Yield the lines of a lock, but for empty ones and those longer than any program writes."""
    lines = (match[0] for match in _LINE.finditer(source))
    return (line for line in lines if len(line) <= _LINE_CHARS)
