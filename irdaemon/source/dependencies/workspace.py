"""Workspaces: the packages of a project that are built together, and their requirements.

A checkout is another person's text. From its manifests come names that the ecosystem allows, and
versions; a path counts only where it leads back into the project.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, TypeVar

from irdaemon.source.ignores import Ignores
from irdaemon.source.opening import is_text, is_within, list_entries, open_regular, read_regular
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    Manifest,
    PackageText,
    clean_text,
    read_readme,
)
from irdaemon.source.tree import PRUNED, find_inside, is_repository
from irdaemon.types import Problem, Refused, SourceError

T = TypeVar("T")

# A lock also lists the dependencies of dependencies, and may well be large.
LOCK_LIMIT = 16 * 1024 * 1024
# Nobody writes down by hand where more packages of a project are.
MOST_MEMBERS = 2_000
_MOST_TOPS = 100
_VERSION_CHARS = 200
# A version of npm or Cargo, which may become a part of a path.
VERSION = re.compile(r"\d[\w.+-]{0,99}\Z", re.ASCII)
# How much is read of a package for the names that it exports, and how many of those are kept.
EXPORTS_BYTES = 65_536
MOST_EXPORTS = 300
_LINE = re.compile(r"[^\n]+")
_LINE_CHARS = 32_768
_CUT = "it ends in the middle of a line; versions that it has lost are unknown"
# The limits of the search for members of a workspace.
_MOST_LISTED = 5_000
_MOST_PATTERNS = 1_000
_MOST_ALTERNATIVES = 64
_PARTS_A_LISTING = 10
_WILD = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*)\}")

Origin = Literal["installed", "locked", "range"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a search: Python's `environment` ("": the project's own), and the most to find."""

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

    `notes` are about all of them; `left_out` counts, by reason, lines that name no dependency.
    """

    dependencies: tuple[Dependency, ...] = ()
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """A line of a manifest that asks for a dependency; `member` is the directory it speaks for."""

    name: str
    wanted: str
    member: str
    manifest: str
    dev: bool = False
    peer: bool = False


def clean_version(value: object) -> str:
    """Return a version or range as one line of printable characters."""
    shown = "".join(filter(str.isprintable, clean_text(value)[:_VERSION_CHARS]))
    scheme, separator, rest = shown.partition("://")
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path


@dataclass(slots=True)
class ProjectFiles:
    """Read the files of a project, and collect the problems and notes about them.

    `root` is a real path. Nothing is opened outside of it, and no manifest that git ignores.
    """

    root: str
    options: Options
    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    ignores: Ignores = field(init=False)
    _apart: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ignores = Ignores((self.root,), self.root)

    def read_text(self, path: str, limit: int = MANIFEST_LIMIT) -> str | None:
        """Return the text of a manifest or lock; None for a missing or unreadable one.

        An unreadable one is a problem.
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

    def parse(
        self, path: str, parse: Callable[[str, str], T], limit: int = MANIFEST_LIMIT
    ) -> T | None:
        """Parse a manifest by `parse(text, path)`; None for a missing, empty or invalid one."""
        source = self.read_text(path, limit)
        try:
            return parse(source, path) if source else None
        except SourceError as error:
            self.complain(path, error)
            return None

    def read_lock(self, path: str) -> str | None:
        """Return the text of a lock that is written in lines; a cut one is a problem."""
        source = self.read_text(path, LOCK_LIMIT)
        if source and not source.endswith("\n"):
            self.complain(path, _CUT)
        return source

    def complain(self, path: str, error: SourceError | str) -> None:
        """Note a problem with a file."""
        reason = error if isinstance(error, str) else error.message.removeprefix(f"{path}: ")
        self.problems.append(Problem(path, reason))

    def resolve(self, directory: str, path: str) -> str:
        """Return the real path of a relative one; "" for one outside of the project."""
        if "\0" in path:
            return ""
        real = find_inside(os.path.join(directory, path), self.root)
        return real if is_text(real) else ""

    def resolve_named(self, directory: str, path: str) -> str:
        """Resolve a path that a manifest names; "" for an ignored or another repository's one."""
        real = self.resolve(directory, path)
        return "" if self.is_apart(real) or self.ignores.ignores_around(real) else real

    def find_package(self, directory: str, path: str, manifest: str) -> str:
        """Return the real path of the package that a manifest names by its path; "" for none."""
        real = self.resolve_named(directory, path)
        return real if real and self.has_file(real, manifest) else ""

    def is_apart(self, path: str) -> bool:
        """Return whether a real path lies in another repository, inside the project."""
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
        """Return whether a directory has a file, or a link to one in the project."""
        real = self.resolve(directory, name)
        return bool(real) and os.path.isfile(real)

    def shorten(self, path: str) -> str:
        """Return a path relative to the root."""
        return os.path.relpath(path, self.root)

    def list_tops(self, manifest: str) -> Iterator[str]:
        """Yield the tops of an ecosystem's workspaces: the root, else directories in it."""
        if os.path.lexists(os.path.join(self.root, manifest)):
            yield self.root
            return
        names = (entry.name for entry in list_directories(self.root))
        below = (os.path.join(self.root, name) for name in sorted(names))
        tops = [top for top in below if os.path.lexists(os.path.join(top, manifest))]
        yield from tops[:_MOST_TOPS]

    def find_members(self, top: str, patterns: Iterable[object], manifest: str) -> list[str]:
        """Return the real paths of the members that a workspace's patterns name, sorted.

        `top` is none of them. A pattern with a leading `!` leaves its members out. Links are not
        followed, unless a pattern without wildcards leads through one to a place in the project.
        """
        written = [each for each in patterns if isinstance(each, str)][:_MOST_PATTERNS]
        search = _Search(self)
        found: dict[str, None] = {}
        for pattern in written:
            named = search.expand(top, pattern.removeprefix("!"))
            if pattern.startswith("!"):
                for directory in named:
                    found.pop(directory, None)
            else:
                with_manifest = (each for each in named if self.has_file(each, manifest))
                found.update(dict.fromkeys(with_manifest))
        found.pop(top, None)
        if len(found) > MOST_MEMBERS or search.left < 0:
            limit = f"{MOST_MEMBERS:,} members in {_MOST_LISTED:,} directories"
            path = os.path.join(top, manifest)
            self.complain(path, f"its workspace has more than {limit}; others are left out")
        return sorted(found)[:MOST_MEMBERS]

    def report(self, dependencies: Iterable[Dependency]) -> Found:
        """Return the dependencies, at most `options.max`, with all that was noted."""
        most = self.options.max
        found: list[Dependency] = []
        for dependency in dependencies:
            if len(found) == most:
                where = f"{self.root}#{dependency.ecosystem}"
                reason = f"more than {most:,} direct dependencies; the others are left out"
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


@dataclass(slots=True)
class Workspace:
    """Packages that are built together.

    `own` are those packages, `requests` their requirements, both by name.
    """

    ecosystem: str
    files: ProjectFiles
    top: str
    own: dict[str, Dependency] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)

    def add_own(self, key: str, name: str, version: object, manifest: str) -> None:
        """Add the package that the manifest at a path defines; of one key the first counts."""
        shown, directory = self.files.shorten(manifest), os.path.dirname(manifest)
        version = clean_version(version)
        own = Dependency(self.ecosystem, name, version, "", "installed", shown, directory, own=True)
        self.own.setdefault(key, own)

    def add_request(self, request: Request, key: str = "") -> None:
        """Add a request, by its name where no other key is given."""
        self.requests.setdefault(key or request.name, []).append(request)

    def list_dependencies(
        self, find: Callable[[str, list[Request]], Dependency | None]
    ) -> Iterator[Dependency]:
        """Yield the workspace's packages, then what `find` makes of the requests for others."""
        yield from self.own.values()
        for name, requests in self.requests.items():
            if name not in self.own and (found := find(name, requests)):
                yield found

    def make_dependency(
        self, chosen: Request, requests: Sequence[Request], version: str, directory: str
    ) -> Dependency:
        """Make the dependency that several requests name: the chosen one, at that version."""
        others = (r.manifest for r in requests if r.manifest != chosen.manifest)
        return Dependency(
            self.ecosystem,
            chosen.name,
            version,
            chosen.wanted,
            "installed" if directory else "locked" if version else "range",
            chosen.manifest,
            directory,
            all(each.dev for each in requests),
            also=tuple(dict.fromkeys(others)),
        )


@dataclass(slots=True)
class _Search:
    """A search for members; `left` is how many directories may still be listed or resolved."""

    files: ProjectFiles
    left: int = _MOST_LISTED

    def expand(self, top: str, pattern: str) -> list[str]:
        """Return the directories that a pattern matches."""
        found: list[str] = []
        for plain in _list_alternatives(pattern):
            if not _WILD.search(plain):
                # Each directory of a long path takes a look.
                self.left -= 1 + plain.count("/") // _PARTS_A_LISTING
                if self.left < 0:
                    break
                real = self.files.resolve_named(top, plain)
                found += [real] if real else []
                continue
            parts = [part for part in plain.split("/") if part not in ("", ".")]
            if ".." not in parts and not plain.startswith("/"):
                found += self._match(top, parts)
        return found

    def _match(self, top: str, parts: list[str]) -> list[str]:
        reached = [top]
        for part in parts:
            if part == "**":
                reached = [below for each in reached for below in self._list_all(each)]
            else:
                below = (each for directory in reached for each in self._list(directory))
                reached = [each for each in below if fnmatchcase(os.path.basename(each), part)]
        return list(dict.fromkeys(reached))

    def _list(self, directory: str) -> list[str]:
        self.left -= 1
        if self.left < 0:
            return []
        names = sorted(entry.name for entry in list_directories(directory))
        return [os.path.join(directory, name) for name in names]

    def _list_all(self, directory: str) -> Iterator[str]:
        pending = [directory]
        while pending:
            yield (reached := pending.pop())
            pending += self._list(reached)


def _list_alternatives(pattern: str) -> list[str]:
    """Return a pattern with each of the alternatives `{a,b}` in it."""
    written, done = [pattern], list[str]()
    while written and len(written) + len(done) <= _MOST_ALTERNATIVES:
        each = written.pop()
        if braces := _BRACES.search(each):
            before, after = each[: braces.start()], each[braces.end() :]
            written += [before + choice + after for choice in reversed(braces[1].split(","))]
        else:
            done.append(each)
    return done


def list_directories(path: str) -> list[os.DirEntry[str]]:
    """Return the directories in a directory that may hold packages of the project, no links."""
    return [each for each in list_entries(path) if _may_hold_packages(each)]


def _may_hold_packages(entry: os.DirEntry[str]) -> bool:
    try:
        plain = entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
    hidden = entry.name.startswith(".") or entry.name in PRUNED
    return plain and not hidden and is_text(entry.name) and not is_repository(entry.path)


def describe_directory(path: str, manifest: Manifest, exports: Iterable[str] = ()) -> PackageText:
    """Return the text of the package whose manifest is at a path."""
    directory = os.path.dirname(path)
    readme = read_readme(directory, by_name=False)
    pointer = directory if readme.digest else path
    return PackageText(manifest, pointer, readme, tuple(dict.fromkeys(exports)))


def read_beginning(path: str, directory: str, limit: int) -> str:
    """Return the beginning of a text at a real path in a directory; "" for any other path."""
    if not is_within(path, directory):
        return ""
    try:
        with open_regular(path) as file:
            return file.read(max(0, limit)).decode("utf-8", "replace")
    except (OSError, SourceError):
        return ""


def split_lines(source: str) -> Iterator[str]:
    """Yield the lines of a lock without the empty ones and those longer than any program writes."""
    lines = (match[0] for match in _LINE.finditer(source))
    return (line for line in lines if len(line) <= _LINE_CHARS)
