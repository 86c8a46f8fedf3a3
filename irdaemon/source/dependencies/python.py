"""Find the dependencies of a project's Python packages, and the versions that it has of them.

Names come from pyproject.toml, setup.cfg, setup.py (parsed, never run), requirement files and
Pipfiles: of the root, of the members of its workspace, and of packages that are taken from a path
inside of the project. A version is that of the environment, else that of the lock, else the range.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from irdaemon.source.dependencies.found import (
    LOCK_LIMIT,
    MOST_MEMBERS,
    Dependency,
    Found,
    Options,
    ProjectFiles,
    Request,
    clean_version,
    list_directories,
    make_dependency,
)
from irdaemon.source.dependencies.members import find_members
from irdaemon.source.dependencies.python_locks import LOCKS, parse_lock
from irdaemon.source.dependencies.requirements import (
    MOST_LINES,
    Requirement,
    RequirementsFile,
    applies_here,
    find_pin,
    is_compiled,
    is_python_name,
    list_paths,
    list_pipfile_requirements,
    normalize_name,
    parse_requirement,
    parse_requirements,
)
from irdaemon.source.dependencies.site_packages import (
    MANIFESTS,
    Environment,
    find_own_environment,
    read_environment,
    refuse_environment,
)
from irdaemon.source.opening import is_text, resolve_path
from irdaemon.source.packages.manifest import Manifest, as_table, clean_texts, parse_toml
from irdaemon.source.packages.python import describe_pyproject
from irdaemon.types import SourceError

ECOSYSTEM = "pypi"
_PYPROJECT, _PIPFILE = "pyproject.toml", "Pipfile"
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)\Z")
_FOR_WORK = re.compile(r"(?:^|[-_./])(?:dev|develop|test|tests|testing|lint|docs?|ci|typing)\b")
_CONDA = ("environment.yml", "environment.yaml", "conda-lock.yml")
# pip lets a file ask for others; so many are read of a project, so many characters of them, and so
# many paths in them are looked for.
_MOST_FILES, _MOST_CHARS, _MOST_PATHS = 200, 4_000_000, 5_000
_NO_NAME = "no name of a distribution of Python"


def find_python(root: str, options: Options) -> Found:
    """Return the direct dependencies of a project's Python packages."""
    checkout = _Checkout(ProjectFiles(root), options)
    checkout.members[root] = None
    _read_members(checkout)
    if not checkout.requests:  # the packages of several languages lie beside each other
        beside = sorted(entry.path for entry in list_directories(root))
        checkout.members.update(dict.fromkeys(beside))
        _read_members(checkout)
    found = (*checkout.own.values(), *_list_dependencies(checkout))
    return checkout.files.report(found, options)


@dataclass(slots=True)
class _Checkout:
    """A project with what its packages of Python ask for, by normalised names.

    `members` are the real paths of the packages' directories, of which `read` those that were
    read, and requirement files; `pins` are versions that such files fix of what others ask for.
    """

    files: ProjectFiles
    options: Options
    own: dict[str, Dependency] = field(default_factory=dict)
    requests: dict[str, list[Request]] = field(default_factory=dict)
    pins: dict[str, str] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    requirement_files: int = 0
    requirement_chars: int = 0
    paths: int = 0

    def ask(self, asked: Requirement | None, directory: str, manifest: str, dev: bool) -> None:
        """Note what a manifest (a path) asks for; what is no name is counted."""
        if asked is None:
            self.files.left_out[_NO_NAME] += 1
            return
        name, wanted = normalize_name(asked.name), clean_version(asked.wanted)
        # Like a peer that is not there, what is for another system is none unless it is installed.
        foreign = not applies_here(asked.marker)
        shown = self.files.shorten(manifest)
        request = Request(asked.name, wanted, directory, shown, dev, foreign)
        self.requests.setdefault(name, []).append(request)

    def enter(self, directory: str, path: str) -> None:
        """Read the package at a path that a manifest in a directory names, where it is inside."""
        if real := self.find_named(directory, path):
            self.members.setdefault(real)

    def find_named(self, directory: str, path: str) -> str:
        """Return the real path that a manifest in a directory names; "" for what is not inside."""
        self.paths += 1
        if self.paths > _MOST_PATHS:
            self.files.left_out[f"a path beyond the first {_MOST_PATHS:,}"] += 1
            return ""
        real = self.files.resolve(directory, path) if "://" not in path else ""
        if not real or self.files.is_apart(real):
            real = ""
            self.files.left_out["a path that leads out of the project"] += 1
        return real

    def read_requirements(self, path: str, use: str = "") -> RequirementsFile | None:
        """Return what a file of requirements asks for; None where it was read for that use.

        None, too, for one beyond the most that are read of a project.
        """
        most = self.requirement_files >= _MOST_FILES or self.requirement_chars >= _MOST_CHARS
        if use + path in self.read or most:
            return None
        self.read.add(use + path)
        self.requirement_files += 1
        source = self.files.read_text(path)
        if source is None:
            return None
        self.requirement_chars += len(source)
        return parse_requirements(source)


def _read_members(checkout: _Checkout) -> None:
    """Read the packages that were not read, those that they name in turn, and so on."""
    while pending := [each for each in checkout.members if each not in checkout.read]:
        for directory in pending:
            if len(checkout.read) < MOST_MEMBERS:
                _read_member(checkout, directory)
            checkout.read.add(directory)
    if len(checkout.members) > MOST_MEMBERS:
        reason = f"it names more than {MOST_MEMBERS:,} packages of Python; the others are left out"
        checkout.files.complain(checkout.files.root, reason)


def _read_member(checkout: _Checkout, directory: str) -> None:
    """Note what the manifests in a directory ask for, and the package that they define."""
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if is_text(entry.name))
    except (OSError, ValueError):
        return
    stated = [
        each for name in MANIFESTS if name in names if (each := _read(checkout, directory, name))
    ]
    _note_own(checkout, directory, stated)
    for part, dev in (("deps", False), ("optional_deps", False), ("dev_deps", True)):
        for path, manifest in stated:
            if asked := getattr(manifest, part):
                for line in asked:
                    checkout.ask(parse_requirement(line), directory, path, dev)
            if asked or part in manifest.given:
                break
    if _PIPFILE in names:
        _read_pipfile(checkout, os.path.join(directory, _PIPFILE))
    _read_requirement_files(checkout, directory, names)
    if any(name in names for name in _CONDA):
        checkout.files.notes["conda: its packages are neither read nor listed"] = None


def _note_own(checkout: _Checkout, directory: str, stated: list[tuple[str, Manifest]]) -> None:
    for path, manifest in stated:
        if is_python_name(manifest.name):
            version = next((clean_version(m.version) for _, m in stated if m.version), "")
            shown = checkout.files.shorten(path)
            own = Dependency(
                ECOSYSTEM, manifest.name, version, "", "installed", shown, directory, own=True
            )
            checkout.own.setdefault(normalize_name(manifest.name), own)
            return


def _read(checkout: _Checkout, directory: str, name: str) -> tuple[str, Manifest] | None:
    """Return the path of a manifest and what it says; None where it says nothing of a package."""
    path, (parse, limit) = os.path.join(directory, name), MANIFESTS[name]
    source = checkout.files.read_text(path, limit)
    if source is None:
        return None
    try:
        if name != _PYPROJECT:
            manifest = parse(source, path)
        else:
            content = parse_toml(source, path)
            # Groups of dependencies need no package.
            manifest = describe_pyproject({"build-system": {}, **content})
            _read_tools(checkout, directory, content)
    except SourceError as error:
        checkout.files.complain(path, error)
        return None
    return (path, manifest) if manifest else None


def _read_tools(checkout: _Checkout, directory: str, content: Mapping[str, object]) -> None:
    """Take from a pyproject.toml what its tools add to the standard: workspaces, paths, groups."""
    tool = as_table(content.get("tool"))
    uv, pdm, poetry = (as_table(tool.get(name)) for name in ("uv", "pdm", "poetry"))
    path = os.path.join(directory, _PYPROJECT)
    for group in (uv.get("dev-dependencies"), *as_table(pdm.get("dev-dependencies")).values()):
        for line in clean_texts(group):
            if not line.startswith("-e"):
                checkout.ask(parse_requirement(line), directory, path, dev=True)
    groups = [as_table(each).get("dependencies") for each in as_table(poetry.get("group")).values()]
    tables = (
        uv.get("sources"),
        poetry.get("dependencies"),
        poetry.get("dev-dependencies"),
        *groups,
    )
    for table in tables:
        for local in list_paths(as_table(table)):
            checkout.enter(directory, local)
    workspace = as_table(uv.get("workspace"))
    patterns = [
        *clean_texts(workspace.get("members")),
        *(f"!{each}" for each in clean_texts(workspace.get("exclude"))),
    ]
    for member in find_members(checkout.files, directory, patterns, _PYPROJECT):
        checkout.members.setdefault(member)


# What pip and Pipenv are given.


def _read_pipfile(checkout: _Checkout, path: str) -> None:
    source = checkout.files.read_text(path)
    if source is None:
        return
    try:
        content = parse_toml(source, path)
    except SourceError as error:
        checkout.files.complain(path, error)
        return
    directory = os.path.dirname(path)
    for section, dev in (("packages", False), ("dev-packages", True)):
        table = as_table(content.get(section))
        for local in list_paths(table):
            checkout.enter(directory, local)
        for asked in list_pipfile_requirements(table):
            checkout.ask(asked, directory, path, dev)


def _read_requirement_files(checkout: _Checkout, directory: str, names: Iterable[str]) -> None:
    """Read the files of a directory; those that a program wrote say which versions it chose.

    Such a file beside what it was made of lists what dependencies depend on as well.
    """
    below = os.path.join(directory, "requirements")
    inside = _list_text_files(below) if "requirements" in names else []
    found = [os.path.join(directory, name) for name in names if _REQUIREMENTS.match(name)]
    for path in [*found, *inside]:
        stem, ending = os.path.splitext(path)
        source = checkout.files.read_text(path) if ending == ".txt" else None
        is_made = source is not None and is_compiled(source)
        if source is not None and (
            f"{stem}.in" in (*found, *inside) or (is_made and checkout.requests)
        ):
            checkout.pins |= _list_pins(parse_requirements(source))
        else:
            _read_requirement_file(
                checkout, directory, path, bool(_FOR_WORK.search(checkout.files.shorten(path)))
            )


def _list_text_files(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            wanted = (each.name for each in entries if each.name.endswith((".txt", ".in")))
            names = sorted(filter(is_text, wanted))
    except (OSError, ValueError):
        return []
    return [os.path.join(directory, name) for name in names]


def _list_pins(file: RequirementsFile) -> dict[str, str]:
    pins = ((normalize_name(each.name), find_pin(each.wanted)) for each in file.requirements)
    return {name: pin for name, pin in pins if pin}


def _read_requirement_file(checkout: _Checkout, member: str, path: str, dev: bool) -> None:
    """Read a file of requirements and those it names, each once; none outside of the project."""
    file = checkout.read_requirements(path)
    if file is None:
        return
    if file.unreadable:
        checkout.files.left_out[_NO_NAME] += file.unreadable
    for asked in file.requirements:
        checkout.ask(asked, member, path, dev)
    if file.is_cut:
        checkout.files.complain(path, f"only its first {MOST_LINES:,} lines are read")
    directory = os.path.dirname(path)
    for local in file.paths:
        checkout.enter(directory, local)
    for named in file.files:
        if real := checkout.find_named(directory, named):
            _read_requirement_file(checkout, member, real, dev)
    for named in file.constraints:
        real = checkout.find_named(directory, named)
        if real and (pinned := checkout.read_requirements(real, use="-c ")):
            checkout.pins |= _list_pins(pinned)


# Which version there is of what is asked for.


@dataclass(slots=True)
class _Versions:
    """The environments and locks of a project's directories, each read once."""

    checkout: _Checkout
    environments: dict[str, Environment | None] = field(default_factory=dict)
    locks: dict[str, Mapping[str, str]] = field(default_factory=dict)
    given: Environment | None = None

    def find_environment(self, member: str) -> Environment | None:
        """Return the environment nearest to a member of the project, else the one configured."""
        for directory in self._list_up(member):
            if directory not in self.environments:
                own = find_own_environment(directory)
                self.environments[directory] = read_environment(own) if own else None
            if found := self.environments[directory]:
                return found
        return self.given

    def find_locked(self, member: str, name: str) -> str:
        """Return the version that the nearest lock has of a distribution, "" for none."""
        for directory in self._list_up(member):
            if directory not in self.locks:
                self.locks[directory] = self._read_locks(directory)
            if version := self.locks[directory].get(name):
                return version
        return self.checkout.pins.get(name, "")

    def _list_up(self, member: str) -> Iterator[str]:
        while member != self.checkout.files.root:
            yield member
            member = os.path.dirname(member)
        yield member

    def _read_locks(self, directory: str) -> Mapping[str, str]:
        versions: dict[str, str] = {}
        for name in LOCKS:
            path = os.path.join(directory, name)
            source = self.checkout.files.read_text(path, LOCK_LIMIT)
            if source is not None:
                locked, problem = parse_lock(source, path)
                versions = {**locked, **versions}
                if problem:
                    self.checkout.files.complain(path, problem)
        return versions


def _list_dependencies(checkout: _Checkout) -> Iterator[Dependency]:
    versions = _Versions(checkout, given=_read_given(checkout))
    for name, requests in checkout.requests.items():
        if name not in checkout.own and (found := _find_dependency(versions, name, requests)):
            yield found
    if checkout.requests and not (versions.given or any(versions.environments.values())):
        note = "Python: no .venv or venv is here, so versions are from manifest and lock"
        checkout.files.notes[note] = None


def _read_given(checkout: _Checkout) -> Environment | None:
    """Return the environment that the configuration names, unless it is a program's own."""
    if not checkout.options.environment:
        return None
    path = resolve_path(os.path.expanduser(checkout.options.environment))
    if reason := refuse_environment(path):
        checkout.files.complain(path, f"[projects] environment is not used: {reason}")
        return None
    return read_environment(path)


def _find_dependency(versions: _Versions, name: str, requests: list[Request]) -> Dependency | None:
    """Return a dependency as it is installed, or locked, for the first who asks; None for none."""
    chosen, version, directory = requests[0], "", ""
    for request in requests:
        environment = versions.find_environment(request.member)
        installed = environment.distributions.get(name) if environment else None
        if installed:
            chosen, version, directory = request, installed.version, installed.path
            break
    if not directory:
        here = [request for request in requests if not request.peer]
        if not here:
            return None
        chosen = here[0]
        locked = (versions.find_locked(each.member, name) or find_pin(each.wanted) for each in here)
        version = next(filter(None, locked), "")
    return make_dependency(ECOSYSTEM, chosen, requests, version, directory)
