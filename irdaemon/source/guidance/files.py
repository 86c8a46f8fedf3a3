"""Enumerate and read the files of one kind of guidance: what its three sources share."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from irdaemon.runtime import toml
from irdaemon.source.author_prompts import find_author_prompts, hides_text
from irdaemon.source.expected import Expected, SeenPath, explain_skip
from irdaemon.source.frontmatter import Front, decode, split_front
from irdaemon.source.ignores import Ignores
from irdaemon.source.opening import find_target, follow_link, read_regular
from irdaemon.source.options import check_options, get_number
from irdaemon.source.plugin_store import (
    Plugin,
    explain_unused,
    find_places,
    find_plugin,
    find_store,
    list_control_files,
    list_plugins,
    list_settings,
)
from irdaemon.source.skills.skill_finder import rank_scope
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    find_inside,
    is_directory,
    is_regular,
    is_searched,
    is_within,
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

# Tell by its path whether a file is guidance of some kind, and in whose format.

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

    def product(self, path: str, own: bool, in_plugin: bool | None = None) -> str:
        """Return in whose format the file at an absolute path is, "" when it is not ours.

        `own` is true where it lies in a directory of this kind's own; `in_plugin` is whether it
        lies in that of a plugin, None where the directories around it are to tell.
        """
        if not self.may_be(path):
            return ""
        for product, pattern in self.places:
            if _compile_pattern(pattern).match_file(path):
                return product
        if not (own or (self._in_plugin(path) if in_plugin is None else in_plugin)):
            return ""
        return next((product for product, ending in self.endings if path.endswith(ending)), "")

    def may_be(self, path: str) -> bool:
        """Return whether a file's name allows that it is of this kind."""
        return os.path.basename(path).endswith(_list_endings(self))

    def _in_plugin(self, path: str) -> bool:
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

    def narrow(self, where: str) -> GuidanceTop | None:
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
        limit = self.symlinks.limit
        if os.path.isfile(top.path):
            if not (limit and Ignores((limit,), limit).ignores_file(top.path)):
                self._keep(top.path, top.given, top)
        elif self._is_deleted_file(top):
            return
        elif problem := check_root(Root(top.path)):
            self.problems.append(problem)
        elif not limit and find_store(top.path) == top.path:
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
            if self.symlinks.limit:  # no project brings plugins
                return is_searched(entry)
            real = resolve_entry(entry)
            if entry.name == "plugins" and find_store(real) == real:
                if walk.enter(entry):
                    known = known_as(os.path.dirname(entry.path), entry.name)
                    stores.append(GuidanceTop(real, known, top.scope, top.depth))
                return False
            return is_searched(entry)

        for directory, found in walk.directories(top.path, descend, top.depth):
            for entry in found:
                if self.kind.may_be(entry.name) and not is_directory(entry):
                    self._offer(entry, known_as(directory, entry.name), top)
        self.problems.extend(walk.problems)
        for store in stores:
            self._store(store)

    def _store(self, top: GuidanceTop) -> None:
        try:
            for plugin in list_plugins(top.path):
                self._plugin(plugin, top.depth)
        except SourceError as error:
            self.problems.append(Problem(top.path, error.message))

    def _plugin(self, plugin: Plugin, depth: int) -> None:
        if problem := check_root(Root(plugin.path)):
            self.problems.append(problem)
            return
        try:
            for place in find_places(plugin, self.kind.name):
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
        and any to a file that is guidance where it lies: AGENTS.md under the name of CLAUDE.md. In
        a project one may lead into the roots alone.
        """
        if self.symlinks.limit:
            real = find_inside(entry.path, self.symlinks.limit)
            inside = any(is_within(real, top.path) for top in self.tops)
            return real if inside else ""
        try:
            return follow_link(entry.path, self.symlinks.roots, by_name=True)
        except Refused as error:
            real = find_target(entry.path) or ""
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
        key = shorten_path(path)
        before = self.entries.get(key)
        if before is None or rank_scope(top.scope) < rank_scope(before.scope):
            self.entries[key] = make_entry(path, top.scope, status)

    def _product(self, path: str, known: str, top: GuidanceTop) -> str:
        """Return whose a file is: within a root by its place there, outside by the link's name.

        So a scan of one changed path gives what a whole scan would.
        """
        around = [each for each in self.tops if is_within(path, each.path)]
        in_plugin = False if self.symlinks.limit else None
        if not around or top.own:
            return self.kind.product(known, top.own, in_plugin)
        return find_product(self.kind, path, around, in_plugin)


def find_product(
    kind: Kind, path: str, around: list[GuidanceTop], in_plugin: bool | None = None
) -> str:
    """Return whose the file at a real path is, by the roots around it."""
    products = (kind.product(top.known_as(path), top.own, in_plugin) for top in around)
    return next(filter(None, products), "") or kind.product(path, own=False, in_plugin=in_plugin)


_OPTIONS = {"max_depth": int, "max_bytes": int}
_LONG_ENDINGS = (".agent.md", ".prompt.md", ".instructions.md")


@dataclass(frozen=True, slots=True)
class Written:
    """One file as read: in whose format, from which plugin, and its content.

    `path` is the one it is known by, through a link or not.
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
        """Return the file's name without its ending."""
        name = os.path.basename(self.path)
        long = next((ending for ending in _LONG_ENDINGS if name.endswith(ending)), "")
        return name.removesuffix(long) if long else os.path.splitext(name)[0]

    def artifact(
        self, raw: Mapping[str, Any], stated: Mapping[str, Any], flags: tuple[str, ...] = ()
    ) -> Artifact:
        """Return the artifact of what was read; `stated` joins what is known of every file."""
        flags = (*self.flags, *flags)
        fields = {} if hides_text(self.parts.head) else self.parts.fields
        told = find_author_prompts((raw["name"], self.stem), fields)
        place = {"product": self.product, "scope": self.entry.scope, "plugin": self.plugin}
        return Artifact(
            artifact_id=self.entry.key,
            raw=raw,
            name=raw["name"],
            pointer=self.entry.path,
            metadata=_drop_empty({**place, **stated, "flags": list(flags)}),
            digest=self.digest,
            flags=flags,
            prompts=told.prompts,
            misses=told.misses,
        )


class GuidanceFiles:
    """Enumerate and read guidance of one kind below directories and in plugin stores.

    Options: `max_depth` (8), how far below a root a file may lie; `max_bytes` (2,000,000), the
    largest file to read. `made` gives the artifact of a file, or why it is passed over.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        kind: Kind,
        made: Callable[[Written], Artifact | str],
        roots: tuple[Root, ...],
        options: Mapping[str, object],
    ):
        given = check_options(kind.name, options, _OPTIONS)
        self._kind = kind
        self._made = made
        self._roots = roots
        self._depth = get_number(given, "max_depth", 8)
        self._max_bytes = get_number(given, "max_bytes", 2_000_000)
        self._project = roots[0].within if roots else ""

    def roots(self) -> tuple[Root, ...]:
        """Return the given places, and the settings that enable the plugins in them."""
        settings = list_settings(self._list_stores())
        return (*self._roots, *settings)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the files; of plugin stores, the deciding JSON files are read."""
        tops = self._list_tops()
        where = EVERYTHING if under is None else self._confine(under, tops)
        if where and os.path.isfile(where) and not self._kind.may_be(where):
            return Scan((), ())
        finder = GuidanceFinder(self._kind, tops, Symlinks.of(self._roots))
        for top in _narrow_tops(tops, where, bool(self._project)):
            if os.path.lexists(where) or not where:
                finder.search(top)
        return _cut_scan(finder, where)

    def expected(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.expected."""
        tops = {top.path: top for top in self._list_tops()}

        def file(seen: SeenPath) -> str | None:
            top = tops.get(seen.top)  # none of a settings file beside the roots
            if top is None:
                return None
            known = top.given if seen.path == seen.top else os.path.join(top.given, seen.relative)
            if self._project:
                return "" if self._kind.product(known, top.own, in_plugin=False) else None
            if not self._kind.product(known, top.own):
                return None
            return explain_unused(seen.path, self._kind.name)

        return Expected(file, lambda seen: explain_skip(seen, self._depth))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one file; what is not of this kind after all is counted as skipped."""
        made = self._made(self._written(entry))
        return Reading((), skipped={made: 1}) if isinstance(made, str) else Reading((made,))

    def _written(self, entry: Entry) -> Written:
        data = read_regular(entry.path, self._max_bytes)
        text, flags = decode(data)
        tops = [top for top in self._list_tops() if is_within(entry.path, top.path)]
        path = tops[0].known_as(entry.path) if tops else entry.path
        in_plugin = False if self._project else None
        product = find_product(self._kind, entry.path, tops, in_plugin)
        product = product or self._kind.product(path, own=True)
        plugin = find_plugin(entry.path, self._list_stores()) if entry.scope == "plugin" else ""
        parts = _parse_parts(entry.path, text)
        digest = hashlib.sha256(data).hexdigest()
        return Written(entry, path, product, plugin, parts, digest, (*flags, *parts.flags))

    def _list_tops(self) -> tuple[GuidanceTop, ...]:
        tops: dict[str, GuidanceTop] = {}
        for root in self._roots:
            path = resolve_root(root)
            if not path:
                continue
            own = os.path.basename(root.path.rstrip("/")) in self._kind.folders
            tops.setdefault(
                path, GuidanceTop(path, root.path.rstrip("/"), root.scope, self._depth, own)
            )
        return tuple(tops.values())

    def _list_stores(self) -> list[str]:
        if self._project:  # none brings plugins
            return []
        return [top.path for top in self._list_tops() if find_store(top.path) == top.path]

    def _confine(self, under: str, tops: tuple[GuidanceTop, ...]) -> str:
        if self._project:
            return confine_change(under, tuple(top.path for top in tops))
        stores = [store for store in [find_store(under), *self._list_stores()] if store]
        if any(under in list_control_files(store) for store in stores):
            return EVERYTHING
        if os.path.basename(under) == "plugin.json" and find_store(under):
            return EVERYTHING
        return confine_change(under, tuple(top.path for top in tops))


def _drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty; false is a value."""
    return {key: value for key, value in fields.items() if value or value is False}


def _narrow_tops(tops: tuple[GuidanceTop, ...], where: str, is_project: bool) -> list[GuidanceTop]:
    """Return what of the roots a change at `where` can affect.

    In a store, and where only a link can lead, that is all: the answer is then cut to `where`.
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
