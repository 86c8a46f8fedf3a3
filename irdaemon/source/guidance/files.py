"""Enumerate and read the files of one kind of guidance."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from irdaemon.runtime import toml
from irdaemon.source.author_prompts import find_author_prompts, hides_text
from irdaemon.source.frontmatter import Front, decode, split_front
from irdaemon.source.ignores import Ignores
from irdaemon.source.opening import find_target, follow_link, is_within, read_regular
from irdaemon.source.plugin_store import (
    Plugin,
    PluginSource,
    explain_unused,
    find_places,
    find_plugin,
    find_store,
    visit_plugins,
)
from irdaemon.source.skills.skill_finder import rank_scope
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    Expected,
    SeenPath,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    explain_skip,
    find_inside,
    is_directory,
    is_regular,
    is_searched,
    make_entry,
    make_scan,
    resolve_entry,
    resolve_root,
    shorten_path,
)
from irdaemon.types import Artifact, Entry, Problem, Reading, Refused, Root, Scan, SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# Find files of one kind of guidance below directories, in the plugins in use among them.

# The path of a file tells whether it is guidance of a kind, and the product of its format.

MANIFEST_FOLDER = ".claude-plugin"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of guidance, and where each product keeps it.

    `places` are (product, pattern) pairs, patterns in gitignore's syntax on absolute paths.
    `endings` are (product, ending of a name) pairs, for files in a directory of this kind's own:
    a root called like one of `folders`, or such a directory of a plugin.
    """

    name: str
    folders: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    endings: tuple[tuple[str, str], ...]

    def find_product(self, path: str, own: bool, in_plugin: bool | None = None) -> str:
        """Return the product of the file at an absolute path, "" for a file of another kind.

        `own` is true where it lies in a directory of this kind's own; `in_plugin` is whether it
        lies in that of a plugin, None to find that out by the directories around it.
        """
        if not self.has_name(path):
            return ""
        for product, pattern in self.places:
            if _compile_pattern(pattern).match_file(path):
                return product
        if not (own or (self._is_in_plugin(path) if in_plugin is None else in_plugin)):
            return ""
        return next((product for product, ending in self.endings if path.endswith(ending)), "")

    def has_name(self, path: str) -> bool:
        """Return whether a file has a name that files of this kind have."""
        return os.path.basename(path).endswith(_list_endings(self))

    def _is_in_plugin(self, path: str) -> bool:
        parts = path.split("/")
        above = ("/".join(parts[:i]) for i, part in enumerate(parts[:-1]) if part in self.folders)
        return any(os.path.isdir(os.path.join(each, MANIFEST_FOLDER)) for each in above)


@cache
def _list_endings(kind: Kind) -> tuple[str, ...]:
    of_places = (pattern.rpartition("/")[2].lstrip("*") for _, pattern in kind.places)
    return (*of_places, *(ending for _, ending in kind.endings))


@cache
def _compile_pattern(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([pattern])


@dataclass(frozen=True, slots=True)
class GuidanceTop:
    """A real file or directory to search, and the path given for it.

    `own` is true where all files below it are of the kind; `depth` is the number of levels.
    """

    path: str
    given: str
    scope: str
    depth: int
    own: bool = False

    def restore_path(self, path: str) -> str:
        """Return the given path for a real path at or below this one."""
        return self.given + path[len(self.path) :]

    def narrow(self, where: str) -> GuidanceTop | None:
        """Return the part at `where`, None for one beyond the reach of a search."""
        inside = os.path.relpath(where, self.path).split(os.sep) if where != self.path else []
        directories = inside if os.path.isdir(where) else inside[:-1]
        if len(directories) > self.depth or not PRUNED.isdisjoint(directories):
            return None
        depth = self.depth - len(directories)
        return GuidanceTop(where, self.restore_path(where), self.scope, depth, self.own)


@dataclass(slots=True)
class GuidanceFinder:
    """The results of one scan so far, by the entries' keys."""

    kind: Kind
    tops: tuple[GuidanceTop, ...]
    symlinks: Symlinks
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def search(self, top: GuidanceTop) -> None:
        """Search a file, below a directory, or in the plugins of a store."""
        limit = self.symlinks.limit
        if os.path.isfile(top.path):
            if not (limit and Ignores((limit,), limit).ignores_file(top.path)):
                self._add_file(top.path, top.given, top)
        elif self._is_deleted_file(top):
            return
        elif problem := check_root(Root(top.path)):
            self.problems.append(problem)
        elif not limit and find_store(top.path) == top.path:
            self._search_store(top)
        else:
            self._walk(top)

    def _is_deleted_file(self, top: GuidanceTop) -> bool:
        """Return whether a root is a deleted file; a missing directory may be unmounted."""
        beside = os.path.isdir(os.path.dirname(top.path))
        return beside and self.kind.has_name(top.path) and not os.path.lexists(top.path)

    def _walk(self, top: GuidanceTop) -> None:
        stores: list[GuidanceTop] = []
        walk = Walk(self.symlinks.add_top(top.path))

        def restore_entry_path(directory: str, name: str) -> str:
            """Return the given path of a file, that of the link for the target of a link."""
            return top.restore_path(os.path.join(walk.reached[directory], name))

        def descend(entry: os.DirEntry[str]) -> bool:
            if self.symlinks.limit:  # no project brings plugins
                return is_searched(entry)
            real = resolve_entry(entry)
            if entry.name == "plugins" and find_store(real) == real:
                if walk.enter(entry):
                    given = restore_entry_path(os.path.dirname(entry.path), entry.name)
                    stores.append(GuidanceTop(real, given, top.scope, top.depth))
                return False
            return is_searched(entry)

        for directory, found in walk.walk_directories(top.path, descend, top.depth):
            for entry in found:
                if self.kind.has_name(entry.name) and not is_directory(entry):
                    self._check_entry(entry, restore_entry_path(directory, entry.name), top)
        self.problems.extend(walk.problems)
        for store in stores:
            self._search_store(store)

    def _search_store(self, top: GuidanceTop) -> None:
        def visit(plugin: Plugin) -> None:
            for place in find_places(plugin, self.kind.name):
                self.search(GuidanceTop(place, place, "plugin", top.depth, own=True))

        visit_plugins(top.path, self.problems, visit)

    def _check_entry(self, entry: os.DirEntry[str], given: str, top: GuidanceTop) -> None:
        if is_regular(entry):
            self._add_file(self._find_target(entry), given, top)
        elif self._find_product(entry.path, given, top):
            reason = "not a regular file, or a link that leads nowhere"
            self.problems.append(Problem(entry.path, reason))

    def _find_target(self, entry: os.DirEntry[str]) -> str:
        """Return the real path of a file, "" for a link that is not followed.

        Besides the targets that any link may have, one directly in a root may lead to any file of
        the kind, and any link to a file that is guidance in its own place: AGENTS.md under the name
        of CLAUDE.md. In a project a link may only lead into the roots.
        """
        if self.symlinks.limit:
            real = find_inside(entry.path, self.symlinks.limit)
            inside = any(is_within(real, top.path) for top in self.tops)
            return real if inside else ""
        try:
            return follow_link(entry.path, self.symlinks.roots, by_name=True)
        except Refused as error:
            real = find_target(entry.path) or ""
            direct = self.symlinks.is_direct(entry.path) and self.kind.has_name(real)
            if real and (direct or self.kind.find_product(real, own=False)):
                return real
            self.problems.append(Problem(entry.path, error.message))
            return ""

    def _add_file(self, path: str, given: str, top: GuidanceTop) -> None:
        """Add a file that is of the kind, in the best scope that it is found in."""
        if not path or not self._find_product(path, given, top):
            return
        before = self.entries.get(key := shorten_path(path))
        if before is None or rank_scope(top.scope) < rank_scope(before.scope):
            with suppress(OSError):  # it has vanished
                self.entries[key] = make_entry(path, top.scope, os.stat(path))

    def _find_product(self, path: str, given: str, top: GuidanceTop) -> str:
        """Return the product of a file, by its place within a root, else by the link's name.

        So a scan of one changed path has the results of a whole scan.
        """
        around = [each for each in self.tops if is_within(path, each.path)]
        in_plugin = False if self.symlinks.limit else None
        if not around or top.own:
            return self.kind.find_product(given, top.own, in_plugin)
        return find_product(self.kind, path, around, in_plugin)


def find_product(
    kind: Kind, path: str, around: list[GuidanceTop], in_plugin: bool | None = None
) -> str:
    """Return the product of the file at a real path, by the roots around it."""
    products = (kind.find_product(each.restore_path(path), each.own, in_plugin) for each in around)
    return next(filter(None, products), "") or kind.find_product(path, False, in_plugin)


_LONG_ENDINGS = (".agent.md", ".prompt.md", ".instructions.md")


@dataclass(frozen=True, slots=True)
class GuidanceFile:
    """The content of one file, with the product of its format and its plugin.

    `path` is the one below the given root, through a link or not.
    """

    entry: Entry
    path: str
    product: str
    plugin: str
    parts: Front
    digest: str
    flags: tuple[str, ...]

    @property
    def stem(self) -> str:
        """Return the file's name without its suffix."""
        name = os.path.basename(self.path)
        long = next((ending for ending in _LONG_ENDINGS if name.endswith(ending)), "")
        return name.removesuffix(long) if long else os.path.splitext(name)[0]

    def make_artifact(
        self, raw: Mapping[str, Any], stated: Mapping[str, Any], flags: tuple[str, ...] = ()
    ) -> Artifact:
        """Return the artifact of the file; `stated` joins the metadata that every file has."""
        flags = (*self.flags, *flags)
        fields = {} if hides_text(self.parts.head) else self.parts.fields
        told = find_author_prompts((raw["name"], self.stem), fields)
        place = {"product": self.product, "scope": self.entry.scope, "plugin": self.plugin}
        stated = {**place, **stated, "flags": list(flags)}
        return Artifact(
            artifact_id=self.entry.key,
            raw=raw,
            name=raw["name"],
            pointer=self.entry.path,
            metadata={k: v for k, v in stated.items() if v or v is False},
            digest=self.digest,
            flags=flags,
            prompts=told.prompts,
            misses=told.misses,
        )


class GuidanceSource(PluginSource):
    """Enumerate and read guidance of one kind below directories and in plugin stores.

    Options: `max_depth` (8), how far below a root a file may lie; `max_bytes` (2,000,000), the
    largest file to read.
    """

    kind: ClassVar[Kind]

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(self.kind.name, roots, options, 8, 2_000_000)

    def make_artifact(self, file: GuidanceFile) -> Artifact | str:
        """Return the artifact of a file, or why it has none."""
        raise NotImplementedError

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the files; of plugin stores, the deciding JSON files are read."""
        tops = self._list_tops()
        where = EVERYTHING if under is None else self._confine(under, tops)
        if where and os.path.isfile(where) and not self.kind.has_name(where):
            return Scan((), ())
        finder = GuidanceFinder(self.kind, tops, Symlinks.from_roots(self._roots))
        for top in _narrow_tops(tops, where, bool(self._project)):
            if os.path.lexists(where) or not where:
                finder.search(top)
        return _cut_scan(finder, where)

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected."""
        tops = {top.path: top for top in self._list_tops()}

        def file(seen: SeenPath) -> str | None:
            top = tops.get(seen.top)  # a settings file lies beside the roots
            if top is None:
                return None
            path = top.given if seen.path == seen.top else os.path.join(top.given, seen.relative)
            if not self.kind.find_product(path, top.own, False if self._project else None):
                return None
            return "" if self._project else explain_unused(seen.path, self.kind.name)

        return Expected(file, lambda seen: explain_skip(seen, self._depth))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one file; one that proves to be of another kind is counted as skipped."""
        made = self.make_artifact(self._read_file(entry))
        return Reading((), skipped={made: 1}) if isinstance(made, str) else Reading((made,))

    def _read_file(self, entry: Entry) -> GuidanceFile:
        data = read_regular(entry.path, self._max_bytes)
        text, flags = decode(data)
        tops = [top for top in self._list_tops() if is_within(entry.path, top.path)]
        path = tops[0].restore_path(entry.path) if tops else entry.path
        in_plugin = False if self._project else None
        product = find_product(self.kind, entry.path, tops, in_plugin)
        product = product or self.kind.find_product(path, own=True)
        plugin = find_plugin(entry.path, self._list_stores()) if entry.scope == "plugin" else ""
        parts = _parse_parts(entry.path, text)
        digest = hashlib.sha256(data).hexdigest()
        return GuidanceFile(entry, path, product, plugin, parts, digest, (*flags, *parts.flags))

    def _list_tops(self) -> tuple[GuidanceTop, ...]:
        tops: dict[str, GuidanceTop] = {}
        for root in self._roots:
            given = root.path.rstrip("/")
            own = os.path.basename(given) in self.kind.folders
            if path := resolve_root(root):
                tops.setdefault(path, GuidanceTop(path, given, root.scope, self._depth, own))
        return tuple(tops.values())

    def _confine(self, under: str, tops: tuple[GuidanceTop, ...]) -> str:
        if self._decides_plugins(under):
            return EVERYTHING
        return confine_change(under, tuple(top.path for top in tops))


def _narrow_tops(tops: tuple[GuidanceTop, ...], where: str, is_project: bool) -> list[GuidanceTop]:
    """Return the parts of the roots that a change at `where` can affect.

    In a store, and where only a link can lead, these are all of them: see `_cut_scan`.
    """
    around = [top for top in tops if where and is_within(where, top.path)]
    if not around or (not is_project and find_store(where)):
        return list(tops)
    return [narrow for top in around if (narrow := top.narrow(where))]


def _cut_scan(finder: GuidanceFinder, where: str) -> Scan:
    found = [entry for entry in finder.entries.values() if is_within(entry.path, where)]
    outside = not any(is_within(where, top.path) for top in finder.tops)
    if where and not found and outside and os.path.lexists(where):
        return Scan((), ())
    return make_scan(found, where, finder.problems)


def _parse_parts(path: str, text: str) -> Front:
    if not path.endswith(".toml"):
        return split_front(text)
    try:
        return Front(toml.parse_toml(text), "", head=text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not valid TOML: {error}", "repair the file") from error
