"""Plugins: those installed, and the skills, agents, commands and servers in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from irdaemon.source import frontmatter as f
from irdaemon.source.opening import (
    follow_link,
    is_within,
    open_directory,
    read_regular,
    resolve_path,
)
from irdaemon.source.places import list_places
from irdaemon.source.plugin_store import (
    Plugin,
    PluginSource,
    find_places,
    find_plugin,
    find_store,
    list_plugins,
    parse_object,
)
from irdaemon.source.skills.skill_finder import SKILL_NAMES
from irdaemon.source.tree import (
    EVERYTHING,
    PRUNED,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    is_searched,
    make_entry,
    make_scan,
)
from irdaemon.types import Artifact, Entry, Problem, Reading, Root, Scan, SourceError

# Read a plugin: its manifest, and the names of its parts.

# The manifests of plugins by product; the first that exists counts.
MANIFESTS = (
    ("claude", ".claude-plugin/plugin.json"),
    ("codex", ".codex-plugin/plugin.json"),
    ("cursor", ".cursor-plugin/plugin.json"),
    ("gemini", "gemini-extension.json"),
)
# The files and directories whose times show a change to a plugin's parts: those of a directory
# show the names that came and went in it.
_PART_PATHS = (
    "skills", "agents", "commands", "rules", ".mcp.json", "mcp.json", "hooks/hooks.json",
)  # fmt: skip
_SUFFIXES = {"agents": (".md", ".toml"), "commands": (".md", ".toml"), "rules": (".mdc", ".md")}
_MANY = 500


def find_manifest(directory: str) -> tuple[str, str]:
    """Return the product and the path of a plugin's manifest, ("", "") where there is none."""
    for product, inside in MANIFESTS:
        path = os.path.join(directory, inside)
        if os.path.isfile(path):
            return product, path
    return "", ""


def read_statuses(directory: str) -> list[os.stat_result]:
    """Return the status of each file and directory that shows a change of a plugin.

    Raises FileNotFoundError where the directory is gone.
    """
    parts = (os.path.join(directory, name) for name in _PART_PATHS)
    paths = [find_manifest(directory)[1], *parts]
    stats = [os.stat(path) for path in paths if path and os.path.exists(path)]
    return stats or [os.stat(directory)]


def read_plugin(entry: Entry, plugin: str, max_bytes: int) -> Artifact:
    """Read one plugin; `plugin` is its id in a store, "" for none.

    Raises FileNotFoundError where it is gone, SourceError where its manifest is invalid.
    """
    os.stat(entry.path)
    product, path = find_manifest(entry.path)
    data = read_regular(follow_link(path, by_name=True), max_bytes) if path else b"{}"
    manifest = parse_object(path, data)
    id, _, marketplace = plugin.partition("@")
    name = f.get_text(manifest, "name") or id or os.path.basename(entry.path)
    parts = _list_all_parts(entry.path, plugin, manifest)
    description = f.get_text(manifest, "description") or f.get_text(
        f.get_table(manifest, "interface"), "longDescription"
    )
    keywords = f.get_words(manifest, "keywords")
    metadata = {
        "product": product or "claude",
        "scope": entry.scope,
        "plugin": plugin,
        "marketplace": marketplace,
        "display_name": f.get_text(manifest, "displayName"),
        "version": f.get_text(manifest, "version"),
        "author": f.get_text(f.get_table(manifest, "author"), "name")
        or f.get_text(manifest, "author"),
        "license": f.get_text(manifest, "license"),
        "homepage": f.get_text(manifest, "homepage"),
        "keywords": keywords,
        **parts,
    }
    words = [*keywords, *(each for names in parts.values() for each in names)]
    flags = () if path else ("no_manifest",)
    return Artifact(
        artifact_id=entry.key,
        raw={
            "name": name,
            "description": description or ", ".join(words),
            "lexical": " ".join(words),
        },
        name=name,
        pointer=entry.path,
        metadata=f.drop_empty({**metadata, "flags": list(flags)}),
        body=_write_page(name, description, parts),
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _write_page(name: str, description: str, parts: Mapping[str, list[str]]) -> str:
    lists = (
        f"## {part.replace('_', ' ')}\n\n" + "\n".join(f"- {each}" for each in names)
        for part, names in parts.items()
    )
    return "\n\n".join(filter(None, [f"# {name}", description, *lists])) + "\n"


def _list_all_parts(
    directory: str, plugin: str, manifest: Mapping[str, object]
) -> dict[str, list[str]]:
    """Return the names of a plugin's parts by their kind, without kinds that it has none of."""
    whole = Plugin(plugin, directory)
    hooks = _read_part(directory, manifest, "hooks", ("hooks/hooks.json",))
    servers = _read_part(directory, manifest, "mcpServers", (".mcp.json", "mcp.json"))
    parts = {
        "skills": _list_skills(whole),
        **{part: _list_parts(whole, part) for part in _SUFFIXES},
        "mcp_servers": _list_keys(servers, "mcpServers"),
        "hooks": _list_keys(hooks, "hooks"),
    }
    return {part: names for part, names in parts.items() if names}


def _list_skills(plugin: Plugin) -> list[str]:
    found = []
    for place in find_places(plugin, "skills"):
        for name in [".", *_list_directory(place)]:
            directory = os.path.normpath(os.path.join(place, name))
            if any(os.path.isfile(os.path.join(directory, each)) for each in SKILL_NAMES):
                found.append(os.path.basename(directory))
    return found[:_MANY]


def _list_parts(plugin: Plugin, part: str) -> list[str]:
    found: list[str] = []
    for place in find_places(plugin, part):
        names = _list_below(place) if os.path.isdir(place) else [os.path.basename(place)]
        found += [os.path.splitext(name)[0] for name in names if name.endswith(_SUFFIXES[part])]
    return list(dict.fromkeys(found[:_MANY]))


def _list_below(place: str) -> list[str]:
    found = []
    with open_directory(place) as descriptor:
        for _, directories, names, _ in os.fwalk(".", dir_fd=descriptor):
            directories[:] = sorted(set(directories) - PRUNED)
            found += sorted(names)
    return found


def _list_directory(place: str) -> list[str]:
    if not os.path.isdir(place):
        return []
    with open_directory(place) as descriptor:
        return sorted(os.listdir(descriptor))


def _read_part(
    directory: str, manifest: Mapping[str, object], key: str, files: tuple[str, ...]
) -> Mapping[str, object]:
    """Return the value of a manifest's key, or of the file that it names, else a usual one."""
    value = manifest.get(key)
    if isinstance(value, dict):
        return value
    named = (value,) if isinstance(value, str) else files
    for name in named:
        path = resolve_path(os.path.join(directory, name))
        if path.startswith(directory + "/") and os.path.isfile(path):
            return parse_object(path, read_regular(path, 1_000_000))
    return {}


def _list_keys(manifest: Mapping[str, object], wrapper: str) -> list[str]:
    inner = manifest.get(wrapper)
    return sorted(inner if isinstance(inner, dict) else manifest)[:_MANY]


_ROOTS = (
    ("claude", "plugins", "plugin"),
    ("codex", "plugins", "plugin"),
    ("home", ".cursor/plugins", "plugin"),
    ("home", ".gemini/extensions", "plugin"),
    ("home", ".agents/plugins", "plugin"),
)
list_known_places = partial(list_places, _ROOTS)
# Other files in a plugin do not change its parts.
_RELEVANT = (".json", ".md", ".mdc", ".toml")


class Plugins(PluginSource):
    """Enumerate and read plugins: directories with a manifest, and those in use in plugin stores.

    Options: `max_depth` (4), how far below a root a plugin may lie; `max_bytes` (1,000,000), the
    largest manifest to read.
    """

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__("plugins", roots, options, 4, 1_000_000)

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate plugins; of plugin stores, the deciding JSON files are read."""
        if under and os.path.isfile(under) and not under.endswith(_RELEVANT):
            return Scan((), ())
        where = EVERYTHING if under is None else self._confine(under)
        search = _PluginScan(self._depth, Symlinks.from_roots(self._roots))
        for root in self._roots:
            search.add(Root(resolve_path(root.path), root.scope))
        inside = [path for path in search.entries if is_within(where, path)] if where else []
        where = max(inside, key=len, default=where)
        found = [entry for path, entry in search.entries.items() if is_within(path, where)]
        if where and not found and os.path.isfile(where):
            return Scan((), ())
        return make_scan(found, where, search.problems)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one plugin's manifest, and the names of its parts."""
        plugin = find_plugin(entry.path, self._list_stores())
        return Reading((read_plugin(entry, plugin, self._max_bytes),))

    def _confine(self, under: str) -> str:
        for _, manifest in MANIFESTS:
            under = under.removesuffix("/" + manifest)
        if self._decides_plugins(under):
            return EVERYTHING
        return confine_change(under, tuple(resolve_path(root.path) for root in self._roots))


@dataclass(slots=True)
class _PluginScan:
    """The results of one scan so far, by the plugins' real paths."""

    depth: int
    symlinks: Symlinks
    entries: dict[str, Entry] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, root: Root) -> None:
        """Add the plugins below a directory, or those in use in a store."""
        if problem := check_root(root):
            self.problems.append(problem)
        elif find_store(root.path) == root.path:
            try:
                for plugin in list_plugins(root.path):
                    self._add_plugin(plugin.path, root.scope)
            except SourceError as error:
                self.problems.append(Problem(root.path, error.message))
        else:
            walk = Walk(self.symlinks)
            for directory, _ in walk.walk_directories(root.path, is_searched, self.depth):
                if find_manifest(directory)[1]:
                    self._add_plugin(directory, root.scope)
            self.problems.extend(walk.problems)

    def _add_plugin(self, path: str, scope: str) -> None:
        try:
            self.entries.setdefault(path, make_entry(path, scope, *read_statuses(path)))
        except OSError as error:
            self.problems.append(Problem(path, error.strerror or str(error)))
