"""Plugins: what is installed, and which skills, agents, commands and servers it brings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from irdaemon.source.affected import EVERYTHING, affected
from irdaemon.source.guidance.bundle import MANIFESTS, bundle, manifest_of, stamp
from irdaemon.source.guidance.product_directories import existing, possible
from irdaemon.source.opening import resolved
from irdaemon.source.options import checked, number
from irdaemon.source.plugin_store import (
    control_files,
    plugin_at,
    plugins_of,
    settings_roots,
    store_of,
)
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import Walk, at_or_under, home_relative, missing, not_pruned
from irdaemon.types import Entry, Problem, Reading, Root, Scan, SourceError

_OPTIONS = {"max_depth": int, "max_bytes": int}
_ROOTS = (
    ("claude", "plugins", "plugin"),
    ("codex", "plugins", "plugin"),
    ("home", ".cursor/plugins", "plugin"),
    ("home", ".gemini/extensions", "plugin"),
    ("home", ".agents/plugins", "plugin"),
)
# Other files in a plugin do not change what it brings.
_TELLING = (".json", ".md", ".mdc", ".toml")


class Plugins:
    """Enumerate and read plugins: directories with a manifest, and those in use in plugin stores.

    Options: `max_depth` (4), how far below a root a plugin may lie; `max_bytes` (1,000,000), the
    largest manifest to read.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        given = checked("plugins", options, _OPTIONS)
        self._roots = roots
        self._depth = number(given, "max_depth", 4)
        self._max_bytes = number(given, "max_bytes", 1_000_000)

    def roots(self) -> tuple[Root, ...]:
        """Return the given directories, and the settings that enable the plugins in them."""
        settings = settings_roots(self._stores())
        return (*self._roots, *settings)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate plugins; of plugin stores, the deciding JSON files are read."""
        if under and os.path.isfile(under) and not under.endswith(_TELLING):
            return Scan((), ())
        where = EVERYTHING if under is None else self._affected(under)
        search = _PluginScan(self._depth, Symlinks.of(self._roots))
        for root in self._roots:
            search.add(Root(resolved(root.path), root.scope))
        inside = [path for path in search.entries if at_or_under(where, path)] if where else []
        where = max(inside, key=len, default=where)
        found = [entry for path, entry in search.entries.items() if at_or_under(path, where)]
        if where and not found and os.path.isfile(where):
            return Scan((), ())
        problems = (
            problem
            for problem in dict.fromkeys(search.problems)
            if at_or_under(problem.path, where) or at_or_under(where, problem.path)
        )
        return Scan(tuple(sorted(found, key=lambda e: e.key)), (where,), tuple(problems))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one plugin's manifest, and the names of what it brings."""
        plugin = plugin_at(entry.path, self._stores())
        return Reading((bundle(entry, plugin, self._max_bytes),))

    def _stores(self) -> list[str]:
        paths = (resolved(root.path) for root in self._roots)
        return [path for path in paths if store_of(path) == path]

    def _affected(self, under: str) -> str:
        if any(under in control_files(store) for store in self._stores()):
            return EVERYTHING
        for _, manifest in MANIFESTS:
            if under.endswith("/" + manifest):
                under = under.removesuffix("/" + manifest)
        return affected(under, tuple(resolved(root.path) for root in self._roots))


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directories in which this user's agents keep plugins, existing ones only."""
    return existing(_ROOTS, home, env)


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directories in which this user's agents keep plugins, existing or not."""
    return possible(_ROOTS, home, env)


@dataclass(slots=True)
class _PluginScan:
    """What one scan has found so far, by the plugins' real paths."""

    depth: int
    symlinks: Symlinks
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, root: Root) -> None:
        """Look below a directory, or at the plugins in use in a store."""
        if problem := missing(root):
            self.problems.append(problem)
            return
        for path in (
            self._store(root.path) if store_of(root.path) == root.path else self._tree(root)
        ):
            self._keep(path, root.scope)

    def _store(self, store: str) -> Iterator[str]:
        try:
            yield from (plugin.path for plugin in plugins_of(store))
        except SourceError as error:
            self.problems.append(Problem(store, error.message))

    def _tree(self, root: Root) -> Iterator[str]:
        walk = Walk(self.symlinks)
        for directory, _ in walk.directories(root.path, not_pruned, self.depth):
            if manifest_of(directory)[1]:
                yield directory
        self.problems.extend(walk.problems)

    def _keep(self, path: str, scope: str) -> None:
        try:
            stamped, newest = stamp(path)
        except OSError as error:
            self.problems.append(Problem(path, error.strerror or str(error)))
        else:
            self.entries.setdefault(path, Entry(home_relative(path), path, stamped, newest, scope))
