"""Find the dependencies of Rust's crates: Cargo.toml, Cargo.lock and cargo's registry."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irdaemon.source.dependencies.workspace import (
    EXPORTS_BYTES,
    MOST_EXPORTS,
    MOST_MEMBERS,
    VERSION,
    Dependency,
    ProjectFiles,
    Request,
    Workspace,
    clean_version,
    describe_directory,
    list_directories,
    read_beginning,
    split_lines,
)
from irdaemon.source.opening import is_within, read_regular, resolve_path
from irdaemon.source.packages.cargo import describe_crate
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    PackageText,
    as_list,
    as_table,
    parse_toml,
)

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


def find_cargo(files: ProjectFiles) -> Iterator[Dependency]:
    """Yield the crates of a project, and their direct dependencies."""
    for top in files.list_tops(_MANIFEST):
        workspace = _Workspace("cargo", files, top)
        workspace.read_members()
        workspace.lock = parse_cargo_lock(files.read_lock(os.path.join(top, _LOCK)) or "")
        workspace.indexes = _list_indexes()
        yield from workspace.list_dependencies(workspace.find)


@dataclass(slots=True)
class _Workspace(Workspace):
    """A crate or workspace: `table` is what its members inherit, `crates` are their names.

    `indexes` are the directories below which cargo has unpacked the sources of crates.
    """

    table: Mapping[str, object] = field(default_factory=dict)
    crates: dict[str, str] = field(default_factory=dict)
    lock: CargoLock = field(default_factory=lambda: parse_cargo_lock(""))
    indexes: list[str] = field(default_factory=list)

    def read_members(self) -> None:
        """Read the crate at the top, its workspace's members, and those that they name by paths."""
        content = self._read_manifest(self.top)
        self.table = as_table(content.get("workspace"))
        left_out = [f"!{each}" for each in as_list(self.table.get("exclude"))]
        patterns = [*as_list(self.table.get("members")), *left_out]
        pending = deque([self.top, *self.files.find_members(self.top, patterns, _MANIFEST)])
        seen: set[str] = set()
        while pending and len(seen) < MOST_MEMBERS:
            directory = pending.popleft()
            if directory not in seen:
                seen.add(directory)
                held = content if directory == self.top else self._read_manifest(directory)
                pending += self._add_member(directory, held)

    def _read_manifest(self, directory: str) -> Mapping[str, object]:
        return self.files.parse(os.path.join(directory, _MANIFEST), parse_toml) or {}

    def _inherit(self, name: str, spec: object) -> Mapping[str, object]:
        """Return the specification of a dependency, here or in the workspace."""
        if as_table(spec).get("workspace") is True:
            spec = as_table(self.table.get("dependencies")).get(name)
        return {"version": spec} if isinstance(spec, str) else as_table(spec)

    def _add_member(self, directory: str, content: Mapping[str, object]) -> Iterator[str]:
        """Add a crate and its requests; yield the directories of those that it names by paths."""
        manifest = os.path.join(directory, _MANIFEST)
        package = as_table(content.get("package"))
        name, version = package.get("name"), package.get("version")
        if isinstance(name, str) and _NAME.match(name):
            if isinstance(version, dict):
                version = as_table(self.table.get("package")).get("version")
            self.add_own(name, name, version, manifest)
            self.crates[directory] = name
        for section, called, spec in _list_dependencies(content):
            details = self._inherit(called, spec)
            name = details.get("package") or called
            if not isinstance(name, str) or not _NAME.match(name):
                self.files.left_out["no name of a crate"] += 1
                continue
            base = self.top if as_table(spec).get("workspace") is True else directory
            place = details.get("path")
            if isinstance(place, str) and place:
                local = self.files.find_package(base, place, _MANIFEST)
                yield from [local] if local else []
            wanted = clean_version(details.get("version") or details.get("git"))
            dev = section == "dev-dependencies"
            shown = self.files.shorten(manifest)
            self.add_request(Request(name, wanted, directory, shown, dev))

    def find(self, name: str, requests: list[Request]) -> Dependency:
        """Return a dependency at its locked version, with its unpacked source."""
        chosen = requests[0]
        version = self.lock.find_version(self.crates.get(chosen.member, ""), name)
        directory = _find_source(self.indexes, f"{name}-{version}") if version else ""
        return self.make_dependency(chosen, requests, version, directory)


def _list_dependencies(content: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    for table in (content, *map(as_table, as_table(content.get("target")).values())):
        for section in _SECTIONS:
            for name, spec in as_table(table.get(section)).items():
                yield section, name, spec


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
    """The versions of each crate, and the one that each crate needs where there are several."""

    versions: Mapping[str, list[str]]
    needs: Mapping[str, Mapping[str, str]]

    def find_version(self, crate: str, name: str) -> str:
        """Return the version of a crate's dependency; "" for an unknown one."""
        needed = self.needs.get(crate, {}).get(name, "")
        versions = self.versions.get(name, [])
        version = needed or (versions[0] if len(versions) == 1 else "")
        return version if VERSION.match(version) else ""


def parse_cargo_lock(source: str) -> CargoLock:
    """Parse a Cargo.lock line by line, as cargo writes it; other lines are ignored."""
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
    """Return the names at the top level of a library, those that it re-exports last."""
    path = os.path.join(directory, "src", "lib.rs")
    source = read_beginning(path, directory, EXPORTS_BYTES)
    names = [one or other for one, other in _PUBLIC.findall(source)]
    for used in _REEXPORTED.findall(source):
        names += _LAST_WORD.findall(used)
    return tuple(dict.fromkeys(names))[:MOST_EXPORTS]
