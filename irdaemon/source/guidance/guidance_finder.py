"""Find files of one kind of guidance below directories, in the plugins in use among them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from irdaemon.source.guidance.kind import Kind
from irdaemon.source.opening import followed, target_of
from irdaemon.source.plugin_store import Plugin, places_of, plugins_of, store_of
from irdaemon.source.skills.skill_finder import rank
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import (
    PRUNED,
    Walk,
    at_or_under,
    home_relative,
    is_directory,
    is_regular,
    missing,
    not_pruned,
    real_path,
    stamp_of,
)
from irdaemon.types import Entry, Problem, Refused, Root, SourceError


@dataclass(frozen=True, slots=True)
class GuidanceTop:
    """A real file or directory to search, and the path it was given as.

    `own` is true where all below it is of the kind; `depth` is how many levels are searched.
    """

    path: str
    given: str
    scope: str
    depth: int
    own: bool = False

    def known_as(self, path: str) -> str:
        """Return the name under which a real path at or below this one is known."""
        return self.given + path[len(self.path) :]

    def narrowed(self, where: str) -> GuidanceTop | None:
        """Return the part of this at `where`, None when a search would not get there."""
        inside = os.path.relpath(where, self.path).split(os.sep) if where != self.path else []
        directories = inside if os.path.isdir(where) else inside[:-1]
        if len(directories) > self.depth or not PRUNED.isdisjoint(directories):
            return None
        depth = self.depth - len(directories)
        return GuidanceTop(where, self.known_as(where), self.scope, depth, self.own)


@dataclass(slots=True)
class GuidanceFinder:
    """What one scan has found so far, by the entries' keys."""

    kind: Kind
    tops: tuple[GuidanceTop, ...]
    symlinks: Symlinks
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def search(self, top: GuidanceTop) -> None:
        """Search a file, below a directory, or in the plugins of a store."""
        if os.path.isfile(top.path):
            self._keep(top.path, top.given, top)
        elif self._is_deleted_file(top):
            return
        elif problem := missing(Root(top.path)):
            self.problems.append(problem)
        elif store_of(top.path) == top.path:
            self._store(top)
        else:
            self._walk(top)

    def _is_deleted_file(self, top: GuidanceTop) -> bool:
        """Return whether a root is a deleted file; a missing directory may be unmounted."""
        beside = os.path.isdir(os.path.dirname(top.path))
        return beside and self.kind.may_be(top.path) and not os.path.lexists(top.path)

    def _walk(self, top: GuidanceTop) -> None:
        stores: list[GuidanceTop] = []
        walk = Walk(self.symlinks.with_top(top.path))

        def known_as(directory: str, name: str) -> str:
            """Return the path a file is known by: what a link leads to, by the link's name."""
            return top.known_as(os.path.join(walk.reached[directory], name))

        def descend(entry: os.DirEntry[str]) -> bool:
            real = real_path(entry)
            if entry.name == "plugins" and store_of(real) == real:
                if walk.entered(entry):
                    known = known_as(os.path.dirname(entry.path), entry.name)
                    stores.append(GuidanceTop(real, known, top.scope, top.depth))
                return False
            return not_pruned(entry)

        for directory, found in walk.directories(top.path, descend, top.depth):
            for entry in found:
                if self.kind.may_be(entry.name) and not is_directory(entry):
                    self._offer(entry, known_as(directory, entry.name), top)
        self.problems.extend(walk.problems)
        for store in stores:
            self._store(store)

    def _store(self, top: GuidanceTop) -> None:
        try:
            for plugin in plugins_of(top.path):
                self._plugin(plugin, top.depth)
        except SourceError as error:
            self.problems.append(Problem(top.path, error.message))

    def _plugin(self, plugin: Plugin, depth: int) -> None:
        if problem := missing(Root(plugin.path)):
            self.problems.append(problem)
            return
        try:
            for place in places_of(plugin, self.kind.name):
                self.search(GuidanceTop(place, place, "plugin", depth, own=True))
        except SourceError as error:
            self.problems.append(Problem(plugin.path, error.message))

    def _offer(self, entry: os.DirEntry[str], known: str, top: GuidanceTop) -> None:
        if is_regular(entry):
            self._keep(self._target(entry), known, top)
        elif self._product(entry.path, known, top):
            reason = "not a regular file, or a link that leads nowhere"
            self.problems.append(Problem(entry.path, reason))

    def _target(self, entry: os.DirEntry[str]) -> str:
        """Return where a file really is, "" for a link that is not followed.

        Beside what every link may lead to, one directly in a root may lead to any file of the kind,
        and any to a file that is guidance where it lies: AGENTS.md under the name of CLAUDE.md.
        """
        try:
            return followed(entry.path, self.symlinks.roots, by_name=True)
        except Refused as error:
            real = target_of(entry.path) or ""
            direct = self.symlinks.is_direct(entry.path) and self.kind.may_be(real)
            if real and (direct or self.kind.product(real, own=False)):
                return real
            self.problems.append(Problem(entry.path, error.message))
            return ""

    def _keep(self, path: str, known: str, top: GuidanceTop) -> None:
        """Keep a file that is of the kind, in the best scope it was met in."""
        if not path or not self._product(path, known, top):
            return
        try:
            status = os.stat(path)
        except OSError:  # it vanished meanwhile
            return
        key = home_relative(path)
        before = self.entries.get(key)
        if before is None or rank(top.scope) < rank(before.scope):
            entry = Entry(key, path, stamp_of(status), status.st_mtime_ns, top.scope)
            self.entries[key] = entry

    def _product(self, path: str, known: str, top: GuidanceTop) -> str:
        """Return whose a file is: within a root by its place there, outside by the link's name.

        So a scan of one changed path gives what a whole scan would.
        """
        around = [each for each in self.tops if at_or_under(path, each.path)]
        if not around or top.own:
            return self.kind.product(known, top.own)
        return product_in(self.kind, path, around)


def product_in(kind: Kind, path: str, around: list[GuidanceTop]) -> str:
    """Return whose the file at a real path is, by the roots around it."""
    products = (kind.product(top.known_as(path), top.own) for top in around)
    return next(filter(None, products), "") or kind.product(path, own=False)
