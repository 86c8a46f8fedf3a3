"""Find the dependencies of Rust's crates: Cargo.toml, Cargo.lock and cargo's registry."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irdaemon.source.dependencies.found import (
    CUT,
    EXPORTS_BYTES,
    LOCK_LIMIT,
    MOST_EXPORTS,
    MOST_MEMBERS,
    VERSION,
    Dependency,
    Found,
    Options,
    PackageText,
    ProjectFiles,
    Request,
    clean_version,
    describe_directory,
    group_requests,
    list_directories,
    make_dependency,
    read_beginning,
    split_lines,
)
from irdaemon.source.dependencies.members import find_members
from irdaemon.source.opening import is_within, read_regular, resolve_path
from irdaemon.source.packages.cargo import describe_crate
from irdaemon.source.packages.manifest import MANIFEST_LIMIT, as_table, parse_toml
from irdaemon.types import SourceError

ECOSYSTEM = "cargo"
_MANIFEST, _LOCK = "Cargo.toml", "Cargo.lock"
_NAME = re.compile(r"[A-Za-z_][\w-]{0,63}\Z", re.ASCII)
_SECTIONS = ("dependencies", "build-dependencies", "dev-dependencies")
_QUOTED = re.compile(r'"([^"]*)"')
_MOST_INDEXES = 20
# What a crate offers at its top level.
_PUBLIC = re.compile(
    r"^pub (?:(?:async|unsafe|const) ){0,3}(?:fn|struct|enum|trait|mod|type|static|union|const)"
    r" ([A-Za-z_]\w{0,99})|^macro_rules! ([A-Za-z_]\w{0,99})",
    re.MULTILINE | re.ASCII,
)
_REEXPORTED = re.compile(r"^pub use ([^;]{1,2000});", re.MULTILINE)
_LAST_WORD = re.compile(r"([A-Za-z_]\w{0,99})\s*(?:[,}]|\Z)", re.ASCII)


def find_cargo(root: str, options: Options) -> Found:
    """Return the direct dependencies of a project's crates."""
    files = ProjectFiles(root)
    found = (each for top in files.list_tops(_MANIFEST) for each in _look_at(files, top))
    return files.report(found, options)


@dataclass(slots=True)
class _Workspace:
    """A crate or workspace: what its members inherit, what they are, and what they ask for.

    `crates` are the names of the members by their directories.
    """

    files: ProjectFiles
    top: str
    table: Mapping[str, object]
    own: dict[str, Dependency] = field(default_factory=dict)
    crates: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def read_manifest(self, directory: str) -> Mapping[str, object]:
        """Return the content of a Cargo.toml; one that cannot be read is a problem."""
        path = os.path.join(directory, _MANIFEST)
        try:
            return parse_toml(self.files.read_text(path) or "", path)
        except SourceError as error:
            self.files.complain(path, error)
            return {}

    def inherit(self, name: str, spec: object) -> Mapping[str, object]:
        """Return what a dependency is asked for with, here or in the workspace."""
        if as_table(spec).get("workspace") is True:
            spec = as_table(self.table.get("dependencies")).get(name)
        return {"version": spec} if isinstance(spec, str) else as_table(spec)


def _look_at(files: ProjectFiles, top: str) -> Iterator[Dependency]:
    workspace = _Workspace(files, top, {})
    content = workspace.read_manifest(top)
    workspace.table = as_table(content.get("workspace"))
    left_out = [f"!{each}" for each in _list(workspace.table.get("exclude"))]
    patterns = [*_list(workspace.table.get("members")), *left_out]
    pending = deque([top, *find_members(files, top, patterns, _MANIFEST)])
    seen: set[str] = set()
    while pending and len(seen) < MOST_MEMBERS:
        directory = pending.popleft()
        if directory not in seen:
            seen.add(directory)
            told = content if directory == top else workspace.read_manifest(directory)
            pending += _note_member(workspace, directory, told)
    yield from workspace.own.values()
    lock, indexes = _read_lock(workspace), _list_indexes()
    for name, requests in group_requests(workspace.requests).items():
        if name not in workspace.own:
            yield _find_dependency(workspace, requests, lock, indexes)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _note_member(
    workspace: _Workspace, directory: str, content: Mapping[str, object]
) -> Iterator[str]:
    """Note a crate and what it asks for; yield where crates lie that it takes from a path."""
    files = workspace.files
    manifest = files.shorten(os.path.join(directory, _MANIFEST))
    package = as_table(content.get("package"))
    name = package.get("name")
    if isinstance(name, str) and _NAME.match(name):
        stated = package.get("version")
        if isinstance(stated, dict):
            stated = as_table(workspace.table.get("package")).get("version")
        version = clean_version(stated)
        own = Dependency(ECOSYSTEM, name, version, "", "installed", manifest, directory, own=True)
        workspace.own.setdefault(name, own)
        workspace.crates[directory] = name
    for section, called, spec in _list_dependencies(content):
        details = workspace.inherit(called, spec)
        name = details.get("package") or called
        if not isinstance(name, str) or not _NAME.match(name):
            files.left_out["no name of a crate"] += 1
            continue
        inherited = as_table(spec).get("workspace") is True
        place = details.get("path")
        if isinstance(place, str) and place:
            local = files.resolve_named(workspace.top if inherited else directory, place)
            if local and files.has_file(local, _MANIFEST):
                yield local
        wanted = clean_version(details.get("version") or details.get("git"))
        dev = section == "dev-dependencies"
        workspace.requests.append(Request(name, wanted, directory, manifest, dev))


def _list_dependencies(content: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    for table in (content, *map(as_table, as_table(content.get("target")).values())):
        for section in _SECTIONS:
            for name, spec in as_table(table.get(section)).items():
                yield section, name, spec


def _find_dependency(
    workspace: _Workspace, requests: list[Request], lock: CargoLock, indexes: list[str]
) -> Dependency:
    chosen = requests[0]
    version = lock.find_version(workspace.crates.get(chosen.member, ""), chosen.name)
    directory = _find_source(indexes, f"{chosen.name}-{version}") if version else ""
    return make_dependency(ECOSYSTEM, chosen, requests, version, directory)


def _list_indexes() -> list[str]:
    """Return the real paths below which cargo has unpacked the sources of crates."""
    home = os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")
    registry = resolve_path(os.path.join(home, "registry", "src"))
    names = sorted(entry.name for entry in list_directories(registry))
    return [os.path.join(registry, name) for name in names[:_MOST_INDEXES]]


def _find_source(indexes: list[str], name: str) -> str:
    for index in indexes:
        directory = resolve_path(os.path.join(index, name))
        if is_within(directory, index) and os.path.isfile(os.path.join(directory, _MANIFEST)):
            return directory
    return ""


@dataclass(frozen=True, slots=True)
class CargoLock:
    """The versions of each crate, and which of them a crate needs where there are several."""

    versions: Mapping[str, list[str]]
    needs: Mapping[str, Mapping[str, str]]

    def find_version(self, crate: str, name: str) -> str:
        """Return the version of a dependency of a crate; "" where that is not known."""
        needed = self.needs.get(crate, {}).get(name, "")
        versions = self.versions.get(name, [])
        version = needed or (versions[0] if len(versions) == 1 else "")
        return version if VERSION.match(version) else ""


def _read_lock(workspace: _Workspace) -> CargoLock:
    path = os.path.join(workspace.top, _LOCK)
    source = workspace.files.read_text(path, LOCK_LIMIT) or ""
    if source and not source.endswith("\n"):
        workspace.files.complain(path, CUT)
    return parse_cargo_lock(source)


def parse_cargo_lock(source: str) -> CargoLock:
    """Parse a Cargo.lock line by line, as cargo writes it: any text gives what there is in it."""
    versions: dict[str, list[str]] = {}
    needs: dict[str, dict[str, str]] = {}
    name, in_list = "", False
    for line in split_lines(source):
        key, _, value = line.strip().partition(" = ")
        if in_list or key == "dependencies":
            in_list = not line.rstrip().endswith("]")
            for each in _QUOTED.findall(line):
                called, _, rest = each.partition(" ")
                needs.setdefault(name, {})[called] = rest.partition(" ")[0]
        elif key == "[[package]]":
            name = ""
        elif key == "name":
            name = value.strip('"')
        elif key == "version" and name:
            versions.setdefault(name, []).append(value.strip('"'))
    return CargoLock(versions, needs)


def read_cargo(directory: str) -> PackageText:
    """Read the crate in a directory. Raises FileNotFoundError or SourceError."""
    path = os.path.join(directory, _MANIFEST)
    source = read_regular(path, MANIFEST_LIMIT).decode("utf-8-sig", "replace")
    manifest = describe_crate(parse_toml(source, path))
    return describe_directory(path, manifest, _list_public(directory))


def _list_public(directory: str) -> tuple[str, ...]:
    """Return the names at the top level of a library, those that it hands on last."""
    path = os.path.join(directory, "src", "lib.rs")
    source = read_beginning(path, directory, EXPORTS_BYTES)
    names = [one or other for one, other in _PUBLIC.findall(source)]
    for used in _REEXPORTED.findall(source):
        names += _LAST_WORD.findall(used)
    return tuple(dict.fromkeys(names))[:MOST_EXPORTS]
