"""Find the packages that one changed, new or vanished path can affect."""

from __future__ import annotations

import os

from irdaemon.source.packages.layout import MANIFESTS, is_distribution, is_read
from irdaemon.source.packages.walk import PackageScan, WalkLimits, below, is_installed
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import Walk, at_or_under
from irdaemon.types import Root, Scan


def scan_change(roots: tuple[Root, ...], limits: WalkLimits, under: str) -> Scan:
    """Find the packages that a change of the path `under` can affect; `roots` deepest first."""
    search = PackageScan(limits, Walk(Symlinks.of(roots)))
    whole = [root for root in roots if at_or_under(root.path, under)]
    for root in whole:
        search.root(root)
    holding = [root for root in roots if root not in whole and at_or_under(under, root.path)]
    covered = _inside(search, holding[0], under) if holding else ()
    return search.result(covered or tuple(root.path for root in whole))


def _inside(search: PackageScan, root: Root, under: str) -> tuple[str, ...]:
    """Scan what lies at, or belongs to, a path inside a root; return what that covers."""
    if not is_installed(root.path):
        return _in_project(search, root, under)
    package = _installed_package(root.path, under)
    if package:
        search.installed(root, package)
    return (package,) if package else ()


def _installed_package(root: str, under: str) -> str:
    """Return the installed package a path belongs to; "" for a path of none."""
    parts = below(root, under)
    if os.path.basename(root) != "node_modules":
        return os.path.join(root, parts[0]) if is_distribution(parts[0]) else ""
    size = 2 if parts[0].startswith("@") else 1
    inner = parts[size:]
    if parts[0].startswith(".") or len(inner) > 1 or not all(map(is_read, inner)):
        return ""
    return os.path.join(root, *parts[:size])


def _in_project(search: PackageScan, root: Root, under: str) -> tuple[str, ...]:
    belongs = is_read(os.path.basename(under)) and not os.path.isdir(under)
    target = os.path.dirname(under) if belongs else under
    if not search.limits.reaches(root.path, target):
        return ()
    if target != root.path and not os.path.lexists(target):
        return (target,)
    if belongs and not _reaches_below(under):
        search.tree(target, root.scope, 0)
        return ()
    return _everything(search, root, target) if os.path.isdir(target) else ()


def _reaches_below(path: str) -> bool:
    """Return whether a file of a package can change more than the entries of its directory.

    A vanished manifest can end an entry, and only a covered directory, hence a searched one, says
    so; crates below a Cargo.toml may inherit from it.
    """
    name = os.path.basename(path)
    return name == "Cargo.toml" or (name in MANIFESTS and not os.path.isfile(path))


def _everything(search: PackageScan, root: Root, target: str) -> tuple[str, ...]:
    depth = search.limits.max_depth - len(below(root.path, target))
    search.tree(target, root.scope, depth)
    return (target,)
