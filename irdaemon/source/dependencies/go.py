"""Find the dependencies of Go's modules: go.mod, go.work and the module cache."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from irdaemon.source.dependencies.found import (
    EXPORTS_BYTES,
    MOST_EXPORTS,
    MOST_MEMBERS,
    Dependency,
    Found,
    Options,
    Origin,
    PackageText,
    ProjectFiles,
    Request,
    clean_version,
    describe_directory,
    group_requests,
    read_beginning,
)
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.packages.gomod import (
    Directive,
    describe_module,
    find_package_comment,
    list_directives,
)
from irdaemon.source.packages.manifest import MANIFEST_LIMIT, Manifest
from irdaemon.types import SourceError

ECOSYSTEM = "go"
_MANIFEST, _WORKSPACE = "go.mod", "go.work"
_MODULE = re.compile(r"[A-Za-z0-9][\w.~-]*(?:/[\w~-][\w.~-]*)*\Z", re.ASCII)
_MODULE_CHARS = 300
_VERSION = re.compile(r"v\d[\w.+-]{0,199}\Z", re.ASCII)
_CAPITAL = re.compile(r"[A-Z]")
_MOST_FILES = 20
_EXPORTED = re.compile(r"^(?:func|type|var|const) ([A-Z]\w{0,99})", re.MULTILINE | re.ASCII)


def is_module(name: str) -> bool:
    """Return whether a module of Go may be called so."""
    return len(name) <= _MODULE_CHARS and bool(_MODULE.match(name))


def find_go(root: str, options: Options) -> Found:
    """Return the direct dependencies of a project's modules."""
    files = ProjectFiles(root)
    found = (each for members in _list_workspaces(files) for each in _look_at(files, members))
    return files.report(found, options)


@dataclass(slots=True)
class _Workspace:
    """Modules that are built together: what they ask for, and what stands for which of that."""

    files: ProjectFiles
    own: dict[str, Dependency] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    replaced: dict[str, _Replacement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A module or directory that stands for a module; the directory is one of the project."""

    directory: str = ""
    name: str = ""
    version: str = ""


def _list_workspaces(files: ProjectFiles) -> Iterator[list[str]]:
    """Yield the directories of modules that are built together; of a go.work, its own first."""
    path = os.path.join(files.root, _WORKSPACE)
    source = files.read_text(path)
    if source is None:
        yield from ([top] for top in files.list_tops(_MANIFEST))
        return
    used = [each.arguments[0] for each in list_directives(source) if _has_verb(each, "use")]
    named = [files.resolve_named(files.root, each) for each in used[:MOST_MEMBERS]]
    yield [files.root, *dict.fromkeys(each for each in named if each and each != files.root)]


def _has_verb(directive: Directive, verb: str) -> bool:
    return directive.verb == verb and bool(directive.arguments)


def _look_at(files: ProjectFiles, members: list[str]) -> Iterator[Dependency]:
    workspace = _Workspace(files)
    source = files.read_text(os.path.join(files.root, _WORKSPACE))
    _note_replaced(workspace, files.root, list(list_directives(source or "")))
    for member in members:
        _note_member(workspace, member)
    yield from workspace.own.values()
    cache = _find_cache()
    for name, requests in group_requests(workspace.requests).items():
        if name not in workspace.own:
            yield _find_dependency(workspace, requests, cache)


def _note_member(workspace: _Workspace, directory: str) -> None:
    """Note a module and what it asks for itself."""
    files, path = workspace.files, os.path.join(directory, _MANIFEST)
    directives = list(list_directives(files.read_text(path) or ""))
    manifest = files.shorten(path)
    _note_replaced(workspace, directory, directives)
    for each in directives:
        name = each.arguments[0] if each.arguments else ""
        if each.verb not in ("module", "require"):
            continue
        if not is_module(name):
            files.left_out["no name of a module of Go"] += 1
        elif each.verb == "module":
            own = Dependency(ECOSYSTEM, name, "", "", "installed", manifest, directory, own=True)
            workspace.own.setdefault(name, own)
        elif each.comment.partition(";")[0].strip() != "indirect":
            wanted = clean_version(" ".join(each.arguments[1:2]))
            workspace.requests.append(Request(name, wanted, directory, manifest))


def _note_replaced(workspace: _Workspace, directory: str, directives: list[Directive]) -> None:
    for each in directives:
        if each.verb != "replace" or "=>" not in each.arguments:
            continue
        at = each.arguments.index("=>")
        old, new = each.arguments[:at], each.arguments[at + 1 :]
        if not old or not new:
            continue
        if new[0].startswith((".", "/")):
            found = _Replacement(workspace.files.resolve_named(directory, new[0]))
        else:
            found = _Replacement("", new[0], new[1] if new[1:] else "")
        workspace.replaced.setdefault(old[0], found)


def _find_dependency(workspace: _Workspace, requests: list[Request], cache: str) -> Dependency:
    chosen = requests[0]
    also = tuple(dict.fromkeys(r.manifest for r in requests if r.manifest != chosen.manifest))
    plain = Dependency(
        ECOSYSTEM, chosen.name, wanted=chosen.wanted, manifest=chosen.manifest, also=also
    )
    instead = workspace.replaced.get(chosen.name)
    if instead and not instead.name:
        if not instead.directory:
            return replace(plain, note="replaced by a directory out of the project")
        return replace(plain, origin="installed", directory=instead.directory, own=True)
    name, version = (instead.name, instead.version) if instead else (chosen.name, chosen.wanted)
    if not is_module(name) or not _VERSION.match(version):
        return plain
    directory = _find_source(cache, name, version) or _find_vendored(workspace, chosen)
    note = f"replaced by {name}" if instead and name != chosen.name else ""
    origin: Origin = "installed" if directory else "locked"
    return replace(plain, version=version, origin=origin, directory=directory, note=note)


def _find_cache() -> str:
    """Return the real path of Go's module cache."""
    path = os.environ.get("GOPATH", "").partition(os.pathsep)[0] or os.path.expanduser("~/go")
    return resolve_path(os.environ.get("GOMODCACHE") or os.path.join(path, "pkg", "mod"))


def _find_source(cache: str, name: str, version: str) -> str:
    """Return where a module lies in the cache, which spells a capital as `!` and a small letter."""
    spelled = _CAPITAL.sub(lambda match: f"!{match[0].lower()}", f"{name}@{version}")
    directory = resolve_path(os.path.join(cache, spelled))
    return directory if is_within(directory, cache) and os.path.isdir(directory) else ""


def _find_vendored(workspace: _Workspace, request: Request) -> str:
    directory = workspace.files.resolve(request.member, os.path.join("vendor", request.name))
    return directory if directory and os.path.isdir(directory) else ""


def read_go(directory: str) -> PackageText:
    """Read the module in a directory: its go.mod, README, package comment and exported names."""
    path = os.path.join(directory, _MANIFEST)
    source = read_beginning(path, directory, MANIFEST_LIMIT)
    try:
        manifest = describe_module(source, path)
    except SourceError:  # of the time before modules
        manifest = Manifest()
    sources = list(_read_sources(directory))
    comment = next(filter(None, map(find_package_comment, sources)), "")
    names = [name for each in sources for name in _EXPORTED.findall(each)]
    return describe_directory(path, replace(manifest, description=comment), names[:MOST_EXPORTS])


def _read_sources(directory: str) -> Iterator[str]:
    """Yield the beginning of the files of a module's own package, doc.go first."""
    try:
        names = os.listdir(directory)
    except OSError:
        return
    code = [name for name in names if name.endswith(".go") and not name.endswith("_test.go")]
    left = EXPORTS_BYTES
    for name in sorted(code, key=lambda name: (name != "doc.go", name))[:_MOST_FILES]:
        text = read_beginning(os.path.join(directory, name), directory, left)
        left -= len(text)
        yield text
