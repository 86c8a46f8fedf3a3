"""Find the packages below the roots.

A root that is itself a site-packages or node_modules directory yields what is installed in it,
and nothing below that; every other root is walked as a tree of projects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch

from irdaemon.source.packages.layout import (
    MANIFESTS,
    NPM,
    distributions_in,
    packages_in,
)
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import PRUNED, Walk, at_or_under
from irdaemon.types import Entry, Root, Scan

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
    """How far to walk: directory-name patterns to leave out, and depth below a root."""

    exclude: tuple[str, ...] = ()
    max_depth: int = 8

    def descends(self, entry: os.DirEntry[str]) -> bool:
        """Return whether a sub-directory may hold packages of its own."""
        return self.enters(os.path.dirname(entry.path), entry.name)

    def enters(self, parent: str, name: str) -> bool:
        """Say the same of a name below a directory."""
        if name.startswith(".") or name in _VENDORED:
            return False
        if any(fnmatch(name, pattern) for pattern in self.exclude):
            return False
        return name not in _OUTPUTS or not _is_package(parent)

    def reaches(self, top: str, directory: str) -> bool:
        """Return whether a walk from `top` would come to `directory`."""
        parts = below(top, directory)
        parents = [os.path.join(top, *parts[:depth]) for depth in range(len(parts))]
        steps = zip(parents, parts, strict=True)
        return len(parts) <= self.max_depth and all(self.enters(*step) for step in steps)


def _is_package(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, name)) for name in MANIFESTS)


def below(top: str, path: str) -> tuple[str, ...]:
    """Return the parts of `path` after `top`."""
    return tuple(part for part in path[len(top) :].split("/") if part)


@dataclass(slots=True)
class PackageScan:
    """One scan's work: the walk's memory and the entries found."""

    limits: WalkLimits
    walk: Walk
    found: list[Entry] = field(default_factory=list)

    def root(self, root: Root) -> None:
        """Find everything in a root."""
        if is_installed(root.path):
            self.installed(root)
        else:
            self.tree(root.path, root.scope, self.limits.max_depth)

    def tree(self, top: str, scope: str, depth: int) -> None:
        """Find the packages in a project tree, down to `depth` below its top."""
        for directory, listing in self.walk.directories(top, self.limits.descends, depth):
            self.found += packages_in(directory, listing, scope)

    def installed(self, root: Root, only: str = "") -> None:
        """Find what is installed in a root, `only` at or under one path."""
        modules = os.path.basename(root.path) == _NODE_MODULES
        entries = self._modules(root) if modules else self._distributions(root)
        self.found += (entry for entry in entries if at_or_under(entry.path, only))

    def _distributions(self, root: Root) -> Iterator[Entry]:
        for _, listing in self.walk.directories(root.path, lambda _: False):
            yield from distributions_in(listing, root.scope)

    def _modules(self, root: Root) -> Iterator[Entry]:
        def descends(entry: os.DirEntry[str]) -> bool:
            parent = os.path.dirname(entry.path)
            scoped = os.path.basename(parent).startswith("@")
            return not entry.name.startswith(".") and (parent == root.path or scoped)

        for directory, listing in self.walk.directories(root.path, descends, 2):
            yield from packages_in(directory, listing, root.scope, (NPM,))

    def result(self, covered: tuple[str, ...]) -> Scan:
        """Return what was found, in the order of the keys."""
        ordered = tuple(sorted(self.found, key=lambda entry: entry.key))
        return Scan(ordered, covered, tuple(self.walk.problems))


def is_installed(path: str) -> bool:
    """Return whether a root holds installed packages rather than projects."""
    if os.path.basename(path) in (_NODE_MODULES, *_SITES):
        return True
    try:
        with os.scandir(path) as entries:
            return any(entry.name.endswith(".dist-info") for entry in entries)
    except (OSError, ValueError):
        return False


def scan_all(roots: tuple[Root, ...], limits: WalkLimits) -> Scan:
    """Find every package below the roots."""
    search = PackageScan(limits, Walk(Symlinks.of(roots)))
    for root in roots:
        search.root(root)
    return search.result(("",))
