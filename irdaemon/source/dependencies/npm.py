"""Find the dependencies of npm's packages: package.json, what is installed, and the lock."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from irdaemon.source.dependencies.declarations import list_declared
from irdaemon.source.dependencies.found import (
    Dependency,
    Found,
    Options,
    PackageText,
    ProjectFiles,
    Request,
    clean_version,
    describe_directory,
    group_requests,
    make_dependency,
)
from irdaemon.source.dependencies.members import find_members
from irdaemon.source.dependencies.npm_locks import Lock, Wanted, read_locks
from irdaemon.source.lenient_yaml import load_yaml
from irdaemon.source.opening import is_within, read_regular
from irdaemon.source.packages.manifest import MANIFEST_LIMIT, as_table, parse_json
from irdaemon.source.packages.npm import describe_package
from irdaemon.types import SourceError

ECOSYSTEM = "npm"
_MANIFEST = "package.json"
_PNPM_WORKSPACE = "pnpm-workspace.yaml"
# What npm lets be published, and what it let once: capitals.
_NAME = re.compile(r"(?:@[\w~*-][\w.~*-]*/)?[\w~*-][\w.~*-]*\Z", re.ASCII)
_NAME_CHARS = 214
_SECTIONS = ("dependencies", "optionalDependencies", "peerDependencies", "devDependencies")
_PATHS = ("file:", "link:", "portal:", "workspace:")
# What says that packages are in archives, which are not opened.
_PNP = (".pnp.cjs", ".pnp.js", ".pnp.data.json")
_BINARY_LOCK = "bun.lockb"


def is_npm_name(name: str) -> bool:
    """Return whether a package of npm may be called so."""
    return len(name) <= _NAME_CHARS and bool(_NAME.match(name)) and not name.startswith("_")


def find_npm(root: str, options: Options) -> Found:
    """Return the direct dependencies of a project's packages of npm."""
    files = ProjectFiles(root)
    found = (each for top in files.list_tops(_MANIFEST) for each in _look_at(files, top))
    return files.report(found, options)


@dataclass(slots=True)
class _Workspace:
    """A package with its lock, and the packages that are members of it.

    `catalogs` are the ranges that members may ask for by the name of a catalog of them. `locks` are
    read where something is not installed.
    """

    files: ProjectFiles
    top: str
    own: dict[str, Dependency] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    catalogs: dict[str, Mapping[str, object]] = field(default_factory=dict)
    locks: tuple[Lock, ...] | None = None

    def find_version(self, request: Request) -> str:
        """Return the locked version of what a member asks for; "" where there is none."""
        if self.locks is None:
            self.locks = read_locks(self.files, self.top)
        member = os.path.relpath(request.member, self.top)
        wanted = Wanted("" if member == "." else member, request.name, request.wanted)
        return next(filter(None, (lock.find_version(wanted) for lock in self.locks)), "")


def _look_at(files: ProjectFiles, top: str) -> Iterator[Dependency]:
    workspace = _Workspace(files, top)
    content = _read_manifest(files, top)
    patterns = _read_workspace(workspace, content)
    _note_member(workspace, top, content)
    for member in find_members(files, top, patterns, _MANIFEST):
        _note_member(workspace, member, _read_manifest(files, member))
    yield from workspace.own.values()
    missing = 0
    for name, requests in group_requests(workspace.requests).items():
        if name not in workspace.own:
            for dependency in _find_dependency(workspace, requests):
                missing += dependency.origin != "installed"
                yield dependency
    if missing:
        _note_missing(workspace, missing)


def _read_manifest(files: ProjectFiles, directory: str) -> Mapping[str, object]:
    path = os.path.join(directory, _MANIFEST)
    try:
        return parse_json(files.read_text(path) or "{}", path)
    except SourceError as error:
        files.complain(path, error)
        return {}


def _read_workspace(workspace: _Workspace, content: Mapping[str, object]) -> list[object]:
    """Return the patterns of members; note the catalogs."""
    stated = content.get("workspaces")
    table = as_table(stated)
    named = stated if isinstance(stated, list) else table.get("packages")
    source = workspace.files.read_text(os.path.join(workspace.top, _PNPM_WORKSPACE))
    pnpm = as_table(load_yaml(source)[0]) if source else {}
    for held in (table, pnpm):
        for name, catalog in as_table(held.get("catalogs")).items():
            workspace.catalogs[name] = as_table(catalog)
        if catalog := as_table(held.get("catalog")):
            workspace.catalogs["default"] = workspace.catalogs[""] = catalog
    more = pnpm.get("packages")
    return [*(named if isinstance(named, list) else []), *(more if isinstance(more, list) else [])]


def _note_member(workspace: _Workspace, directory: str, content: Mapping[str, object]) -> None:
    """Note what a package.json asks for, and the package that it defines."""
    manifest = workspace.files.shorten(os.path.join(directory, _MANIFEST))
    name = content.get("name")
    if isinstance(name, str) and is_npm_name(name):
        version = clean_version(content.get("version"))
        own = Dependency(ECOSYSTEM, name, version, "", "installed", manifest, directory, own=True)
        workspace.own.setdefault(name, own)
    for section in _SECTIONS:
        dev, peer = section == "devDependencies", section == "peerDependencies"
        for name, wanted in as_table(content.get(section)).items():
            if is_npm_name(name):
                shown = _read_wanted(workspace, name, wanted)
                workspace.requests.append(Request(name, shown, directory, manifest, dev, peer))
            else:
                workspace.files.left_out["no name of a package of npm"] += 1


def _read_wanted(workspace: _Workspace, name: str, wanted: object) -> str:
    """Return the range that is asked for, also of one from a catalog."""
    if isinstance(wanted, str) and wanted.startswith("catalog:"):
        catalog = workspace.catalogs.get(wanted.removeprefix("catalog:"), {})
        wanted = catalog.get(name, wanted)
    return clean_version(wanted)


def _find_dependency(workspace: _Workspace, requests: list[Request]) -> Iterator[Dependency]:
    places = ((each, _find_installed(workspace, each)) for each in requests)
    chosen, directory = next((found for found in places if found[1]), (requests[0], ""))
    version = _read_version(directory) if directory else ""
    if not directory:
        asked = next((each for each in requests if not each.peer), None)
        if asked is None:  # a peer that is not there is somebody else's to bring
            return
        chosen, version = asked, workspace.find_version(asked)
    yield make_dependency(ECOSYSTEM, chosen, requests, version, directory)


def _find_installed(workspace: _Workspace, request: Request) -> str:
    """Return the real path of an installed package, as Node finds it; "" where it has none."""
    scheme, colon, path = request.wanted.partition(":")
    if scheme + colon in _PATHS and path:
        local = workspace.files.resolve_named(request.member, path)
        if local and workspace.files.has_file(local, _MANIFEST):
            return local
    directory = request.member
    while is_within(directory, workspace.top):
        place = os.path.join(directory, "node_modules", request.name)
        real = workspace.files.resolve(place, ".")
        if real and workspace.files.has_file(real, _MANIFEST):
            return real
        directory = os.path.dirname(directory)
    return ""


def _note_missing(workspace: _Workspace, missing: int) -> None:
    """Say why packages have no text: they are in archives, or nowhere."""
    files, top = workspace.files, workspace.top
    if any(os.path.lexists(os.path.join(top, name)) for name in _PNP):
        files.notes["Yarn PnP: versions are from yarn.lock, archives are not opened"] = None
        return
    packages = "1 package of npm is" if missing == 1 else f"{missing:,} packages of npm are"
    files.notes[f"{packages} not installed: name and version are from manifest and lock"] = None
    if not workspace.locks and os.path.lexists(os.path.join(top, _BINARY_LOCK)):
        files.notes[f"{_BINARY_LOCK} is not read; bun install --save-text-lockfile helps"] = None


def _read_installed(directory: str) -> Mapping[str, object]:
    path = os.path.join(directory, _MANIFEST)
    source = read_regular(path, MANIFEST_LIMIT).decode("utf-8-sig", "replace")
    return parse_json(source, path)


def _read_version(directory: str) -> str:
    try:
        return clean_version(_read_installed(directory).get("version"))
    except (FileNotFoundError, SourceError):
        return ""


def read_npm(directory: str) -> PackageText:
    """Read the package in a directory. Raises FileNotFoundError or SourceError."""
    content = _read_installed(directory)
    path = os.path.join(directory, _MANIFEST)
    return describe_directory(path, describe_package(content), list_declared(directory, content))
