"""Find the dependencies of a project's Python packages, and the versions that it has of them.

Names come from pyproject.toml, setup.cfg, setup.py (parsed, never run), requirement files and
Pipfiles: of the root, of the members of its workspace, and of packages that are named by a path
inside the project. A version is that of the environment, else that of the lock, else the range.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from irdaemon.source.dependencies.requirements import (
    MOST_LINES,
    Requirement,
    RequirementsFile,
    applies_here,
    choose_newest,
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
    Environment,
    find_own_environment,
    read_environment,
    refuse_environment,
)
from irdaemon.source.dependencies.workspace import (
    LOCK_LIMIT,
    MOST_MEMBERS,
    Dependency,
    ProjectFiles,
    Request,
    Workspace,
    clean_version,
    list_directories,
)
from irdaemon.source.opening import is_text, list_entries, resolve_path
from irdaemon.source.packages.manifest import (
    Manifest,
    as_table,
    clean_texts,
    parse_json,
    parse_toml,
)
from irdaemon.source.packages.python import MANIFESTS, describe_pyproject
from irdaemon.types import SourceError

_PYPROJECT, _PIPFILE = "pyproject.toml", "Pipfile"
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)\Z")
_FOR_WORK = re.compile(r"(?:^|[-_./])(?:dev|develop|test|tests|testing|lint|docs?|ci|typing)\b")
_CONDA = ("environment.yml", "environment.yaml", "conda-lock.yml")
# pip lets a file name others: how many files are read of a project, how many characters of them,
# and how many paths in them are resolved.
_MOST_FILES, _MOST_CHARS, _MOST_PATHS = 200, 4_000_000, 5_000
_NO_NAME = "no name of a distribution of Python"


def find_python(files: ProjectFiles) -> Iterator[Dependency]:
    """Yield the Python packages of a project, and their direct dependencies."""
    checkout = _Checkout("pypi", files, files.root)
    checkout.members[files.root] = None
    _read_members(checkout)
    if not checkout.requests:  # the packages of several languages are siblings
        beside = sorted(entry.path for entry in list_directories(files.root))
        checkout.members.update(dict.fromkeys(beside))
        _read_members(checkout)
    checkout.given = _read_configured(files)
    yield from list(checkout.list_dependencies(checkout.find))
    if checkout.requests and not (checkout.given or any(checkout.environments.values())):
        files.notes["Python: no .venv or venv is here, so versions are from manifest and lock"] = (
            None
        )


@dataclass(slots=True)
class _Checkout(Workspace):
    """A project's packages of Python.

    `members` are the real paths of their directories, of which `read` those that were read, and
    requirement files; `pins` are versions that such files fix of what others ask for. Environments
    and locks are kept by their directories; `given` is the configured environment.
    """

    given: Environment | None = None
    environments: dict[str, Environment | None] = field(default_factory=dict)
    locks: dict[str, Mapping[str, str]] = field(default_factory=dict)
    pins: dict[str, str] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    requirement_files: int = 0
    requirement_chars: int = 0
    paths: int = 0

    def ask(self, asked: Requirement | None, directory: str, manifest: str, dev: bool) -> None:
        """Add a requirement of a manifest (a path); a line that names nothing is counted."""
        if asked is None:
            self.files.left_out[_NO_NAME] += 1
            return
        # Like a missing peer, a requirement of another system counts only where it is installed.
        foreign, shown = not applies_here(asked.marker), self.files.shorten(manifest)
        wanted = clean_version(asked.wanted)
        request = Request(asked.name, wanted, directory, shown, dev, foreign)
        self.add_request(request, normalize_name(asked.name))

    def enter(self, directory: str, path: str) -> None:
        """Add the package at a path that a manifest in a directory names, where it is inside."""
        if real := self.find_named(directory, path):
            self.members.setdefault(real)

    def find_named(self, directory: str, path: str) -> str:
        """Return the real path that a manifest in a directory names; "" for one outside."""
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
        """Return the contents of a file of requirements.

        None where it was read for that use, and beyond the most that are read of a project.
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

    def find(self, name: str, requests: list[Request]) -> Dependency | None:
        """Return a dependency as it is installed or locked; None where no request applies here."""
        for chosen in requests:
            environment = self.find_environment(chosen.member)
            if environment and (installed := environment.distributions.get(name)):
                version, directory = installed.version, installed.path
                return self.make_dependency(chosen, requests, version, directory)
        here = [request for request in requests if not request.peer]
        if not here:
            return None
        locked = (self.find_locked(each.member, name) or find_pin(each.wanted) for each in here)
        version = next(filter(None, locked), "")
        return self.make_dependency(here[0], requests, version, "")

    def find_environment(self, member: str) -> Environment | None:
        """Return the environment nearest to a member of the project, else the configured one."""
        for directory in self._list_up(member):
            if directory not in self.environments:
                own = find_own_environment(directory)
                self.environments[directory] = read_environment(own) if own else None
            if found := self.environments[directory]:
                return found
        return self.given

    def find_locked(self, member: str, name: str) -> str:
        """Return the version of a distribution in the nearest lock; "" for none."""
        for directory in self._list_up(member):
            if directory not in self.locks:
                self.locks[directory] = self._read_locks(directory)
            if version := self.locks[directory].get(name):
                return version
        return self.pins.get(name, "")

    def _list_up(self, member: str) -> Iterator[str]:
        while member != self.files.root:
            yield member
            member = os.path.dirname(member)
        yield member

    def _read_locks(self, directory: str) -> Mapping[str, str]:
        versions: dict[str, str] = {}
        for name in _LOCKS:
            path = os.path.join(directory, name)
            source = self.files.read_text(path, LOCK_LIMIT)
            if source is not None:
                locked, problem = parse_lock(source, path)
                versions = {**locked, **versions}
                if problem:
                    self.files.complain(path, problem)
        return versions


def _read_members(checkout: _Checkout) -> None:
    """Read the packages that were not read yet, and those that they name in turn."""
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
    names = sorted(entry.name for entry in list_entries(directory) if is_text(entry.name))
    stated = [
        (os.path.join(directory, name), manifest)
        for name in MANIFESTS
        if name in names and (manifest := _read_manifest(checkout, directory, name))
    ]
    _add_own(checkout, stated)
    for part, dev in (("deps", False), ("optional_deps", False), ("dev_deps", True)):
        for path, manifest in stated:
            if asked := getattr(manifest, part):
                for line in asked:
                    checkout.ask(parse_requirement(line), directory, path, dev)
            if asked or part in manifest.given:
                break
    if _PIPFILE in names:
        _read_pipfile(checkout, directory)
    _read_requirement_files(checkout, directory, names)
    if any(name in names for name in _CONDA):
        checkout.files.notes["conda: its packages are neither read nor listed"] = None


def _add_own(checkout: _Checkout, stated: list[tuple[str, Manifest]]) -> None:
    for path, manifest in stated:
        if is_python_name(name := manifest.name):
            version = next((m.version for _, m in stated if m.version), "")
            checkout.add_own(normalize_name(name), name, version, path)
            return


def _read_manifest(checkout: _Checkout, directory: str, name: str) -> Manifest | None:
    """Return the facts of a manifest; None where it defines no package."""
    path, (parse, limit) = os.path.join(directory, name), MANIFESTS[name]
    if name != _PYPROJECT:
        return checkout.files.parse(path, parse, limit)
    content = checkout.files.parse(path, parse_toml, limit)
    if content is None:
        return None
    _read_tools(checkout, directory, content)
    return describe_pyproject({"build-system": {}, **content})  # groups need no package


def _read_tools(checkout: _Checkout, directory: str, content: Mapping[str, object]) -> None:
    """Read what tools add to the standard in a pyproject.toml: workspaces, paths, groups."""
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
    for member in checkout.files.find_members(directory, patterns, _PYPROJECT):
        checkout.members.setdefault(member)


# The files of pip and Pipenv.


def _read_pipfile(checkout: _Checkout, directory: str) -> None:
    path = os.path.join(directory, _PIPFILE)
    content = checkout.files.parse(path, parse_toml) or {}
    for section, dev in (("packages", False), ("dev-packages", True)):
        table = as_table(content.get(section))
        for local in list_paths(table):
            checkout.enter(directory, local)
        for asked in list_pipfile_requirements(table):
            checkout.ask(asked, directory, path, dev)


def _read_requirement_files(checkout: _Checkout, directory: str, names: Iterable[str]) -> None:
    """Read a directory's files of requirements; of those that a program compiled, the pins alone.

    A compiled file beside its source also lists the dependencies of dependencies.
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
    names = (each.name for each in list_entries(directory))
    wanted = sorted(name for name in names if name.endswith((".txt", ".in")) and is_text(name))
    return [os.path.join(directory, name) for name in wanted]


def _list_pins(file: RequirementsFile) -> dict[str, str]:
    pins = ((normalize_name(each.name), find_pin(each.wanted)) for each in file.requirements)
    return {name: pin for name, pin in pins if pin}


def _read_requirement_file(checkout: _Checkout, member: str, path: str, dev: bool) -> None:
    """Read a file of requirements and those it names in the project, each once."""
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


def _read_configured(files: ProjectFiles) -> Environment | None:
    """Return the environment that the configuration names, unless it is a program's own."""
    if not files.options.environment:
        return None
    path = resolve_path(os.path.expanduser(files.options.environment))
    if reason := refuse_environment(path):
        files.complain(path, f"[projects] environment is not used: {reason}")
        return None
    return read_environment(path)


# The versions that the locks of Python's tools have settled on.
#
# uv, Poetry, PDM and PEP 751 write one `[[package]]` after the other. Locks take megabytes, and one
# that is cut counts up to the cut: so they are searched for names and versions, and only the last
# block is parsed, which shows whether the lock is whole.

# In order of precedence.
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_BLOCK = re.compile(r"^\[\[packages?\]\][ \t]*$", re.MULTILINE)
_NEXT_TABLE = re.compile(r"^\[", re.MULTILINE)
_LOCKED_NAME = re.compile(r"""^name[ \t]*=[ \t]*["']([^"'\n]+)["']""", re.MULTILINE)
# Poetry's locks ended with the digests of all files before 2023.
_MOST_PARSED = 256 * 1024
_LOCKED_VERSION = re.compile(r"""^version[ \t]*=[ \t]*["']([^"'\n]+)["']""", re.MULTILINE)


def parse_lock(source: str, path: str) -> tuple[dict[str, str], str]:
    """Return versions by normalised name, the highest of each, and the fault of the lock."""
    if path.endswith("Pipfile.lock"):
        try:
            pairs, problem = list(_list_pipfile_versions(source, path)), ""
        except SourceError as error:
            pairs, problem = [], error.message.removeprefix(f"{path}: ")
    else:
        pairs, problem = _search_blocks(source, path)
    found: dict[str, list[str]] = {}
    for name, version in pairs:
        if is_python_name(name) and version.isprintable():
            found.setdefault(normalize_name(name), []).append(version)
    return {name: choose_newest(versions) for name, versions in found.items()}, problem


def _list_pipfile_versions(source: str, path: str) -> Iterator[tuple[str, str]]:
    content = parse_json(source, path)
    for section in ("default", "develop"):
        for name, spec in as_table(content.get(section)).items():
            version = as_table(spec).get("version")
            yield name, version.lstrip("=") if isinstance(version, str) else ""


def _search_blocks(source: str, path: str) -> tuple[list[tuple[str, str]], str]:
    starts = [match.end() for match in _BLOCK.finditer(source)]
    pairs: list[tuple[str, str]] = []
    for start, end in pairwise([*starts, len(source)]):
        after = _NEXT_TABLE.search(source, start, end)
        stop = after.start() if after else end
        name, version = (
            each.search(source, start, stop) for each in (_LOCKED_NAME, _LOCKED_VERSION)
        )
        if name:
            pairs.append((name[1], version[1] if version else ""))
    last = source[starts[-1] :] if starts else source
    if len(last) > _MOST_PARSED:
        return pairs, "" if starts else "it lists no package"
    try:
        parse_toml(last, path)
    except SourceError:
        return pairs, "it ends in the middle, or is not valid TOML; what comes before that counts"
    return pairs, ""
