"""The packages source: project packages and installed distributions, by their manifests.

Python, npm, Cargo and Go manifests are parsed; nothing in a package is executed or imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from irclient.errors import QueryError
from irdaemon.source.expected import Expected
from irdaemon.source.opening import resolved
from irdaemon.source.options import checked, number, strings
from irdaemon.source.packages.change import scan_change
from irdaemon.source.packages.expectation import expected_packages
from irdaemon.source.packages.known import known_places, known_roots
from irdaemon.source.packages.load import read_entry
from irdaemon.source.packages.walk import WalkLimits, scan_all
from irdaemon.types import Entry, Reading, Root, Scan

__all__ = ["Packages", "known_places", "known_roots"]

_VALID: dict[str, type] = {"exclude": list, "max_depth": int}


class Packages:
    """Find and read packages below the roots.

    Options: `exclude`, a list of fnmatch patterns of directory names to leave out; `max_depth`,
    how deep below a root to look (8). Hidden, dependency, vendored and build-output directories
    are never entered. A root that is a site-packages or node_modules directory yields what is
    installed in it.

    An owner found outside the package (CODEOWNERS, git remote) is only looked up when the package
    itself changes. Two entries share a `path` when a directory holds manifests of two families.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        self._roots = roots
        self._limits = _limits(checked("packages", options, _VALID))

    def roots(self) -> tuple[Root, ...]:
        """Return the directories to watch."""
        return self._roots

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate packages by the stats of their manifests and READMEs."""
        if under is None:
            return scan_all(self._real_roots(), self._limits)
        return scan_change(self._real_roots(), self._limits, under)

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected."""
        return expected_packages(self._limits)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one package: its manifest and README."""
        return read_entry(entry)

    def _real_roots(self) -> tuple[Root, ...]:
        """Resolve the roots, deepest first, so that the innermost root decides on scope."""
        real = (replace(root, path=resolved(root.path)) for root in self._roots)
        return tuple(sorted(real, key=lambda root: -root.path.count("/")))


def _limits(options: Mapping[str, object]) -> WalkLimits:
    depth = number(options, "max_depth", 8)
    if depth < 0:
        raise QueryError("packages: option 'max_depth' is below 0", "0 looks at the roots alone")
    return WalkLimits(strings(options, "exclude"), depth)
