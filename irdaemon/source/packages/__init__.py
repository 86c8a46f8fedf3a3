"""The packages source: project packages and installed distributions, by their manifests.

Python, npm, Cargo and Go manifests are parsed; nothing in a package is executed or imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from glob import escape, glob
from typing import ClassVar

from irclient.errors import QueryError
from irdaemon.source.expected import Expected
from irdaemon.source.opening import is_within, resolve_path
from irdaemon.source.options import check_options, get_number, get_strings
from irdaemon.source.packages.load import read_entry
from irdaemon.source.packages.walk import WalkLimits, expect_packages, scan_packages
from irdaemon.types import Entry, Reading, Root, Scan

# Where packages usually live on a machine.

_SITE = "lib/python3*/site-packages"
_MODULES = "lib/node_modules"
_OWN = ("irdaemon", "irclient")
_PROJECTS = ("src", "code", "projects", "dev", "work", "repos", "git", "workspace")


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directories of packages, existing or not; those found by a pattern exist.

    Scope `project`: trees of projects in the home directory. `user`: packages that the user
    installed (user site, pipx and uv tools, global npm packages). `other`: the active environments.
    The environment that runs this program is not among them, nor is one of pipx or uv that holds
    it: the person does not use what this program needs.
    """
    own = resolve_path(sys.prefix) if sys.prefix != sys.base_prefix else ""
    names = (each for name in _PROJECTS for each in (name, name.capitalize()))
    active = (env[variable] for variable in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(variable))
    known = (
        *(Root(os.path.join(home, name), "project") for name in names),
        *(Root(path, "user") for path in _list_user_installed(home, env)),
        *(Root(path, "other") for prefix in active for path in _match_paths(prefix, _SITE)),
    )
    return tuple(root for root in known if not (own and is_within(resolve_path(root.path), own)))


def _list_user_installed(home: str, env: Mapping[str, str]) -> Iterator[str]:
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local/share")
    pipx = env.get("PIPX_HOME") or os.path.join(data, "pipx")
    tools = env.get("UV_TOOL_DIR") or os.path.join(data, "uv/tools")
    yield from _match_paths(os.path.join(home, ".local"), _SITE)
    for directory in (os.path.join(pipx, "venvs"), os.path.join(home, ".local/pipx/venvs"), tools):
        for site in _match_paths(directory, os.path.join("*", _SITE)):
            if not any(os.path.isdir(os.path.join(site, name)) for name in _OWN):
                yield site
    yield os.path.join(home, ".npm-global", _MODULES)
    if prefix := env.get("NPM_CONFIG_PREFIX"):
        yield os.path.join(prefix, _MODULES)


def _match_paths(directory: str, pattern: str) -> list[str]:
    return sorted(glob(os.path.join(escape(directory), pattern)))


__all__ = ["Packages", "known_places"]

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
        given = check_options("packages", options, _VALID)
        self._limits = WalkLimits(get_strings(given, "exclude"), get_number(given, "max_depth", 8))
        if self._limits.max_depth < 0:
            raise QueryError(
                "packages: option 'max_depth' is below 0", "0 looks at the roots alone"
            )

    def roots(self) -> tuple[Root, ...]:
        """Return the directories to watch."""
        return self._roots

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate packages by the stats of their manifests and READMEs."""
        # The innermost root decides on the scope.
        real = (replace(root, path=resolve_path(root.path)) for root in self._roots)
        roots = tuple(sorted(real, key=lambda root: -root.path.count("/")))
        return scan_packages(roots, self._limits, under)

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected."""
        return expect_packages(self._limits)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one package: its manifest and README."""
        return read_entry(entry)
