"""Find the packages below the roots.

A root that is itself a site-packages or node_modules directory yields what is installed in it,
and nothing below that; every other root is walked as a tree of projects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import islice

from irdaemon.source.opening import is_within, list_entries
from irdaemon.source.packages import cargo, python
from irdaemon.source.packages.manifest import choose_readme, is_readme
from irdaemon.source.tree import (
    PRUNED,
    Expected,
    SeenPath,
    Symlinks,
    Walk,
    get_directory,
    is_directory,
    is_regular,
    make_entry,
    resolve_entry,
    shorten_path,
)
from irdaemon.types import Entry, Root, Scan

# Recognise packages by the names of their files, opening none.
#
# A package's key is its directory's home-relative real path. Python packages are keyed by that
# alone; those of other families always carry their family's suffix (`~/src/web#npm`), so that a
# second manifest appearing in a directory changes no existing key.


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of manifest: its files, and files read beside them.

    One that `inherits` may take values from the nearest one above.
    """

    ecosystem: str
    suffix: str
    manifests: tuple[str, ...]
    beside: tuple[str, ...] = ()
    inherits: bool = False


PYTHON = Family("pypi", "", ("pyproject.toml", "setup.cfg", "setup.py"))
NPM = Family("npm", "#npm", ("package.json",))
CARGO = Family("cargo", "#cargo", ("Cargo.toml",), inherits=True)
GO = Family("go", "#go", ("go.mod",), ("doc.go",))
FAMILIES = (PYTHON, NPM, CARGO, GO)

MANIFESTS = frozenset(name for family in FAMILIES for name in family.manifests)
_BESIDE = frozenset(name for family in FAMILIES for name in family.beside)


def is_read(name: str) -> bool:
    """Return whether a file of this name is read when its directory is a package."""
    return name in MANIFESTS or name in _BESIDE or is_readme(name)


def is_distribution(path: str) -> bool:
    """Return whether a path is an installed distribution's, not a package directory."""
    return path.endswith(python.SUFFIXES)


def find_family(entry: Entry) -> Family:
    """Return the family of a package entry, by its key's suffix."""
    suffix = entry.key[len(shorten_path(entry.path)) :]
    return next(family for family in FAMILIES if family.suffix == suffix)


def list_packages(
    directory: str,
    listing: list[os.DirEntry[str]],
    scope: str,
    families: tuple[Family, ...] = FAMILIES,
) -> Iterator[Entry]:
    """Yield an entry for each family with a manifest in a directory's listing."""
    files = {e.name: e.path for e in listing if is_read(e.name) and is_regular(e)}
    for family in families:
        held = [files[name] for name in family.manifests if name in files]
        if held:
            further = (*family.beside, choose_readme(files))
            held += [files[name] for name in further if name in files]
            if family.inherits:
                above = islice(cargo.list_parents(directory), 1)
                held += [os.path.join(each, "Cargo.toml") for each in above]
            yield _make_entry(shorten_path(directory) + family.suffix, directory, held, scope)


def list_distributions(listing: list[os.DirEntry[str]], scope: str) -> Iterator[Entry]:
    """Yield an entry for each installed distribution in a site-packages listing."""
    for entry in listing:
        if _is_complete(entry.name):
            path = resolve_entry(entry)
            names = (*python.METADATA, *python.BESIDE)
            held = [os.path.join(path, name) for name in names] if is_directory(entry) else [path]
            yield _make_entry(shorten_path(path), path, held, scope)


def _make_entry(key: str, path: str, files: list[str], scope: str) -> Entry:
    statuses = tuple(_list_statuses(files)) or tuple(_list_statuses([path]))
    return make_entry(path, scope, *statuses, key=key)


def _list_statuses(files: list[str]) -> Iterator[os.stat_result]:
    for path in files:
        try:
            yield os.stat(path)
        except OSError:  # gone since the listing, or never there: the stamp is shorter then
            continue


# Other people's packages, kept in a project's tree.
_VENDORED = PRUNED | {
    "vendor", "vendored", "_vendor", "third_party", "third-party", "bower_components",
    "site-packages", "dist-packages",
}  # fmt: skip
# Built from the project, when they lie beside its manifest; `packages/build` may be a package.
_OUTPUTS = frozenset({"dist", "build", "target"})
_SITES = ("site-packages", "dist-packages")
_NODE_MODULES = "node_modules"


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """The limits of a walk: patterns of directory names to leave out, and the depth."""

    exclude: tuple[str, ...] = ()
    max_depth: int = 8

    def enters(self, parent: str, name: str) -> bool:
        """Return whether a sub-directory of a directory may hold packages of its own."""
        if name.startswith(".") or name in _VENDORED:
            return False
        if any(fnmatch(name, pattern) for pattern in self.exclude):
            return False
        beside = (os.path.join(parent, manifest) for manifest in MANIFESTS)
        return name not in _OUTPUTS or not any(map(os.path.isfile, beside))

    def reaches(self, top: str, directory: str) -> bool:
        """Return whether a walk from `top` would come to `directory`."""
        parts = split_below(top, directory)
        parents = [os.path.join(top, *parts[:depth]) for depth in range(len(parts))]
        steps = zip(parents, parts, strict=True)
        return len(parts) <= self.max_depth and all(self.enters(*step) for step in steps)


def split_below(top: str, path: str) -> tuple[str, ...]:
    """Return the parts of `path` after `top`."""
    return tuple(part for part in path[len(top) :].split("/") if part)


@dataclass(slots=True)
class PackageScan:
    """A scan in progress: its walk, and the entries found so far."""

    limits: WalkLimits
    walk: Walk
    found: list[Entry] = field(default_factory=list)

    def scan_tree(self, top: str, scope: str, depth: int) -> None:
        """Find the packages in a project tree, down to `depth` below its top."""

        def descends(entry: os.DirEntry[str]) -> bool:
            return self.limits.enters(os.path.dirname(entry.path), entry.name)

        for directory, listing in self.walk.walk_directories(top, descends, depth):
            self.found += list_packages(directory, listing, scope)

    def scan_installed(self, root: Root, only: str = "") -> None:
        """Find the installed packages of a root, or of `only` one path of it."""
        modules = os.path.basename(root.path) == _NODE_MODULES
        entries = self._list_modules(root) if modules else self._list_distributions(root)
        self.found += (entry for entry in entries if is_within(entry.path, only))

    def _list_distributions(self, root: Root) -> Iterator[Entry]:
        for _, listing in self.walk.walk_directories(root.path, lambda _: False):
            yield from list_distributions(listing, root.scope)

    def _list_modules(self, root: Root) -> Iterator[Entry]:
        def descends(entry: os.DirEntry[str]) -> bool:
            parent = os.path.dirname(entry.path)
            scoped = os.path.basename(parent).startswith("@")
            return not entry.name.startswith(".") and (parent == root.path or scoped)

        for directory, listing in self.walk.walk_directories(root.path, descends, 2):
            yield from list_packages(directory, listing, root.scope, (NPM,))

    def make_scan(self, covered: tuple[str, ...]) -> Scan:
        """Return the scan, in the order of the keys."""
        ordered = tuple(sorted(self.found, key=lambda entry: entry.key))
        return Scan(ordered, covered, tuple(self.walk.problems))


def is_installed(path: str) -> bool:
    """Return whether a root holds installed packages rather than projects."""
    if os.path.basename(path) in (_NODE_MODULES, *_SITES):
        return True
    return any(entry.name.endswith(".dist-info") for entry in list_entries(path))


def scan_packages(roots: tuple[Root, ...], limits: WalkLimits, under: str | None) -> Scan:
    """Find the packages below the roots, those deepest first.

    With `under`, a path that changed, is new or vanished, only those that it can affect.
    """
    search = PackageScan(limits, Walk(Symlinks.from_roots(roots)))
    whole = [root for root in roots if is_within(root.path, under or "")]
    for root in whole:
        if is_installed(root.path):
            search.scan_installed(root)
        else:
            search.scan_tree(root.path, root.scope, limits.max_depth)
    if under is None:
        return search.make_scan(("",))
    holding = [root for root in roots if root not in whole and is_within(under, root.path)]
    covered = _scan_inside(search, holding[0], under) if holding else ()
    return search.make_scan(covered or tuple(root.path for root in whole))


def _scan_inside(search: PackageScan, root: Root, under: str) -> tuple[str, ...]:
    """Scan the entries at, or around, a path inside a root; return the paths that this covers."""
    if not is_installed(root.path):
        return _scan_project(search, root, under)
    package = _find_installed_package(root.path, under)
    if package:
        search.scan_installed(root, package)
    return (package,) if package else ()


def _find_installed_package(root: str, under: str) -> str:
    """Return the installed package that a path belongs to; "" for none."""
    parts = split_below(root, under)
    if os.path.basename(root) != "node_modules":
        return os.path.join(root, parts[0]) if is_distribution(parts[0]) else ""
    size = 2 if parts[0].startswith("@") else 1
    inner = parts[size:]
    if parts[0].startswith(".") or len(inner) > 1 or not all(map(is_read, inner)):
        return ""
    return os.path.join(root, *parts[:size])


def _scan_project(search: PackageScan, root: Root, under: str) -> tuple[str, ...]:
    belongs = is_read(os.path.basename(under)) and not os.path.isdir(under)
    target = os.path.dirname(under) if belongs else under
    if not search.limits.reaches(root.path, target):
        return ()
    if target != root.path and not os.path.lexists(target):
        return (target,)
    if belongs and not _may_affect_below(under):
        search.scan_tree(target, root.scope, 0)
        return ()
    if not os.path.isdir(target):
        return ()
    depth = search.limits.max_depth - len(split_below(root.path, target))
    search.scan_tree(target, root.scope, depth)
    return (target,)


def _may_affect_below(path: str) -> bool:
    """Return whether a file of a package can change more than the entries of its directory.

    A vanished manifest can end an entry, and only a covered directory, hence a searched one, says
    so; crates below a Cargo.toml may inherit from it.
    """
    name = os.path.basename(path)
    return name == "Cargo.toml" or (name in MANIFESTS and not os.path.isfile(path))


# Which manifests should be packages, by their paths alone; see irdaemon.source.tree.Expected.

_UNENTERED = "hidden, dependencies, vendored or built"


def expect_packages(limits: WalkLimits) -> Expected:
    """Return what is expected of roots that are trees of projects or hold what is installed."""
    installed: dict[str, bool] = {}

    def holds_installed(seen: SeenPath) -> bool:
        if seen.top not in installed:
            installed[seen.top] = is_installed(seen.top)
        return installed[seen.top]

    def file(seen: SeenPath) -> str | None:
        if not holds_installed(seen):
            return "" if seen.name in MANIFESTS else None
        return "" if _is_installed_metadata(seen) else None

    def directory(seen: SeenPath) -> str | None:
        if holds_installed(seen):
            return "" if _may_be_installed(seen) else None
        if not limits.enters(os.path.dirname(seen.path), seen.name):
            return _UNENTERED
        deeper = seen.depth >= limits.max_depth
        return f"deeper than {limits.max_depth} levels" if deeper else ""

    def entry(seen: SeenPath) -> str:
        return seen.path if is_distribution(seen.name) else get_directory(seen)

    return Expected(file, directory, entry)


def _is_installed_metadata(seen: SeenPath) -> bool:
    """Return whether a file is npm's manifest, a distribution's metadata, or an .egg-info."""
    if os.path.basename(seen.top) == "node_modules":
        return seen.name in NPM.manifests and 1 <= seen.depth <= 2
    if seen.depth == 0:
        return _is_complete(seen.name)
    return seen.name in ("METADATA", "PKG-INFO") and _is_complete(os.path.dirname(seen.relative))


def _may_be_installed(seen: SeenPath) -> bool:
    if os.path.basename(seen.top) == "node_modules":
        scoped = os.path.basename(os.path.dirname(seen.path)).startswith("@")
        return not seen.name.startswith(".") and (seen.depth == 0 or scoped)
    return seen.depth == 0 and _is_complete(seen.name)


def _is_complete(name: str) -> bool:
    """Return whether a name is a distribution's; pip renames one to be removed to `~...`."""
    return is_distribution(name) and not name.startswith("~")
