"""Find the dependencies of Go's modules: go.mod, go.work and the module cache."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from irdaemon.source.dependencies.workspace import (
    EXPORTS_BYTES,
    MOST_EXPORTS,
    MOST_MEMBERS,
    Dependency,
    ProjectFiles,
    Request,
    Workspace,
    clean_version,
    describe_directory,
    read_beginning,
)
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.packages.gomod import (
    Directive,
    describe_module,
    find_package_comment,
    list_directives,
)
from irdaemon.source.packages.manifest import MANIFEST_LIMIT, Manifest, PackageText
from irdaemon.types import SourceError

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


def find_go(files: ProjectFiles) -> Iterator[Dependency]:
    """Yield the modules of a project, and their direct dependencies."""
    path = os.path.join(files.root, _WORKSPACE)
    source = files.read_text(path)
    if source is None:
        groups = [[top] for top in files.list_tops(_MANIFEST)]
    else:
        uses = [each.arguments for each in list_directives(source) if each.verb == "use"]
        used = [arguments[0] for arguments in uses if arguments]
        named = [files.resolve_named(files.root, each) for each in used[:MOST_MEMBERS]]
        groups = [list(dict.fromkeys([files.root, *filter(None, named)]))]
    for members in groups:
        workspace = _Workspace("go", files, files.root, cache=_find_cache())
        workspace.read_replaced(files.root, list(list_directives(source or "")))
        for member in members:
            workspace.add_member(member)
        yield from workspace.list_dependencies(workspace.find)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A module, or a directory of the project, that replaces a module."""

    directory: str = ""
    name: str = ""
    version: str = ""


@dataclass(slots=True)
class _Workspace(Workspace):
    """Modules that are built together; `replaced` are those that another one replaces.

    `cache` is the real path of Go's module cache.
    """

    cache: str = ""
    replaced: dict[str, _Replacement] = field(default_factory=dict)

    def add_member(self, directory: str) -> None:
        """Add a module and its own requests."""
        path = os.path.join(directory, _MANIFEST)
        directives = list(list_directives(self.files.read_text(path) or ""))
        self.read_replaced(directory, directives)
        for each in directives:
            name = each.arguments[0] if each.arguments else ""
            if each.verb not in ("module", "require"):
                continue
            if not is_module(name):
                self.files.left_out["no name of a module of Go"] += 1
            elif each.verb == "module":
                self.add_own(name, name, "", path)
            elif each.comment.partition(";")[0].strip() != "indirect":
                wanted = clean_version(" ".join(each.arguments[1:2]))
                self.add_request(Request(name, wanted, directory, self.files.shorten(path)))

    def read_replaced(self, directory: str, directives: list[Directive]) -> None:
        """Read the `replace` lines of a go.mod or go.work in a directory."""
        for each in directives:
            if each.verb != "replace" or "=>" not in each.arguments:
                continue
            at = each.arguments.index("=>")
            old, new = each.arguments[:at], each.arguments[at + 1 :]
            if not old or not new:
                continue
            if new[0].startswith((".", "/")):
                found = _Replacement(self.files.resolve_named(directory, new[0]))
            else:
                found = _Replacement("", new[0], new[1] if new[1:] else "")
            self.replaced.setdefault(old[0], found)

    def find(self, name: str, requests: list[Request]) -> Dependency:
        """Return a dependency as it is replaced, cached or vendored."""
        chosen, instead = requests[0], self.replaced.get(name)
        if instead and not instead.name:
            own = self.make_dependency(chosen, requests, "", instead.directory)
            if instead.directory:
                return replace(own, own=True)
            return replace(own, note="replaced by a directory out of the project")
        used, version = (instead.name, instead.version) if instead else (name, chosen.wanted)
        if not is_module(used) or not _VERSION.match(version):
            return self.make_dependency(chosen, requests, "", "")
        vendored = self.files.resolve(chosen.member, os.path.join("vendor", name))
        directory = _find_source(self.cache, used, version)
        if not directory and vendored and os.path.isdir(vendored):
            directory = vendored
        found = self.make_dependency(chosen, requests, version, directory)
        return found if used == name else replace(found, note=f"replaced by {used}")


def _find_cache() -> str:
    """Return the real path of Go's module cache."""
    path = os.environ.get("GOPATH", "").partition(os.pathsep)[0] or os.path.expanduser("~/go")
    return resolve_path(os.environ.get("GOMODCACHE") or os.path.join(path, "pkg", "mod"))


def _find_source(cache: str, name: str, version: str) -> str:
    """Return a module's directory in the cache, which spells a capital `!` and a small letter."""
    spelled = _CAPITAL.sub(lambda match: f"!{match[0].lower()}", f"{name}@{version}")
    directory = resolve_path(os.path.join(cache, spelled))
    return directory if is_within(directory, cache) and os.path.isdir(directory) else ""


def read_go(directory: str) -> PackageText:
    """Read the module in a directory: its go.mod, README, package comment and exported names."""
    path = os.path.join(directory, _MANIFEST)
    source = read_beginning(path, directory, MANIFEST_LIMIT)
    try:
        manifest = describe_module(source, path)
    except SourceError:  # older than modules
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
