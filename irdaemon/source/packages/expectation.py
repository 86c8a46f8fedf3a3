"""Which manifests should be packages, by their paths alone; see irdaemon.source.expected."""

from __future__ import annotations

import os

from irdaemon.source.expected import Expected, SeenPath, directory_of
from irdaemon.source.packages.layout import MANIFESTS, NPM, is_distribution
from irdaemon.source.packages.walk import WalkLimits, is_installed

_UNENTERED = "hidden, dependencies, vendored or built"


def expected_packages(limits: WalkLimits) -> Expected:
    """Return what is expected of roots that are trees of projects or hold what is installed."""
    installed: dict[str, bool] = {}

    def holds_installed(seen: SeenPath) -> bool:
        if seen.top not in installed:
            installed[seen.top] = is_installed(seen.top)
        return installed[seen.top]

    def file(seen: SeenPath) -> str | None:
        if not holds_installed(seen):
            return "" if seen.name in MANIFESTS else None
        return "" if _tells_of_installed(seen) else None

    def directory(seen: SeenPath) -> str | None:
        if holds_installed(seen):
            return "" if _may_be_installed(seen) else None
        if not limits.enters(os.path.dirname(seen.path), seen.name):
            return _UNENTERED
        deeper = seen.depth >= limits.max_depth
        return f"deeper than {limits.max_depth} levels" if deeper else ""

    return Expected(file, directory, _entry)


def _entry(seen: SeenPath) -> str:
    return seen.path if is_distribution(seen.name) else directory_of(seen)


def _tells_of_installed(seen: SeenPath) -> bool:
    """Say whether a file is a manifest of npm, metadata of a distribution, or an .egg-info."""
    if os.path.basename(seen.top) == "node_modules":
        return seen.name in NPM.manifests and 1 <= seen.depth <= 2
    if seen.depth == 0:
        return is_distribution(seen.name) and not seen.name.startswith("~")
    return seen.name in ("METADATA", "PKG-INFO") and _is_kept(os.path.dirname(seen.relative))


def _may_be_installed(seen: SeenPath) -> bool:
    if os.path.basename(seen.top) == "node_modules":
        scoped = os.path.basename(os.path.dirname(seen.path)).startswith("@")
        return not seen.name.startswith(".") and (seen.depth == 0 or scoped)
    return seen.depth == 0 and _is_kept(seen.name)


def _is_kept(directory: str) -> bool:
    return is_distribution(directory) and not directory.startswith("~")
