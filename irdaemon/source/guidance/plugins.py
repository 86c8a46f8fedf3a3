"""Plugins: what is installed, and which skills, agents, commands and servers it brings."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from irdaemon.source.affected import EVERYTHING, affected
from irdaemon.source.opening import followed, open_directory, read_regular, resolved
from irdaemon.source.options import checked, number
from irdaemon.source.places import existing_places, list_places
from irdaemon.source.plugin_store import (
    Plugin,
    control_files,
    places_of,
    plugin_at,
    plugins_of,
    settings_roots,
    store_of,
)
from irdaemon.source.skills import fields as f
from irdaemon.source.skills.skill_finder import SKILL_NAMES
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tree import (
    PRUNED,
    Walk,
    at_or_under,
    home_relative,
    missing,
    not_pruned,
    stamp_of,
)
from irdaemon.types import Artifact, Entry, Problem, Reading, Root, Scan, SourceError

# Read a plugin: its manifest, and the names of what it brings.

# Where products keep the manifest of a plugin; the first that is there counts.
MANIFESTS = (
    ("claude", ".claude-plugin/plugin.json"),
    ("codex", ".codex-plugin/plugin.json"),
    ("cursor", ".cursor-plugin/plugin.json"),
    ("gemini", "gemini-extension.json"),
)
# What a change to a plugin's parts shows in: the directories' own times show names that came
# and went in them.
_MANIFEST_KEYS = (
    "skills",
    "agents",
    "commands",
    "rules",
    ".mcp.json",
    "mcp.json",
    "hooks/hooks.json",
)
_FILES = {"agents": (".md", ".toml"), "commands": (".md", ".toml"), "rules": (".mdc", ".md")}
_MANY = 500


@dataclass(frozen=True, slots=True)
class Brought:
    """The names of what a plugin brings, by what they are."""

    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()

    def named(self) -> dict[str, list[str]]:
        """Return the lists that hold anything."""
        every = {name: list(getattr(self, name)) for name in self.__slots__}
        return {name: names for name, names in every.items() if names}


def manifest_of(directory: str) -> tuple[str, str]:
    """Return the product and the path of a plugin's manifest, ("", "") where there is none."""
    for product, inside in MANIFESTS:
        path = os.path.join(directory, inside)
        if os.path.isfile(path):
            return product, path
    return "", ""


def stamp(directory: str) -> tuple[str, int]:
    """Fingerprint a plugin, with the newest time behind it; opens nothing.

    Raises FileNotFoundError where the directory is gone.
    """
    paths = [manifest_of(directory)[1], *(os.path.join(directory, name) for name in _MANIFEST_KEYS)]
    stats = [os.stat(path) for path in paths if path and os.path.exists(path)]
    stats = stats or [os.stat(directory)]
    return stamp_of(*stats), max(each.st_mtime_ns for each in stats)


def bundle(entry: Entry, plugin: str, max_bytes: int) -> Artifact:
    """Read one plugin; `plugin` is the id under which a store knows it, "" for none.

    Raises FileNotFoundError where it is gone, SourceError where its manifest is not understood.
    """
    os.stat(entry.path)
    product, path = manifest_of(entry.path)
    data = read_regular(followed(path, by_name=True), max_bytes) if path else b"{}"
    manifest = _object(path, data)
    known = plugin.partition("@")
    name = f.text(manifest, "name") or known[0] or os.path.basename(entry.path)
    brought = _brought(entry.path, plugin, manifest)
    description = f.text(manifest, "description") or f.text(
        _part(manifest, "interface"), "longDescription"
    )
    keywords = f.words(manifest, "keywords")
    metadata = {
        "product": product or "claude",
        "scope": entry.scope,
        "plugin": plugin,
        "marketplace": known[2],
        "display_name": f.text(manifest, "displayName"),
        "version": f.text(manifest, "version"),
        "author": f.text(_part(manifest, "author"), "name") or f.text(manifest, "author"),
        "license": f.text(manifest, "license"),
        "homepage": f.text(manifest, "homepage"),
        "keywords": keywords,
        **brought.named(),
    }
    words = [*keywords, *(each for names in brought.named().values() for each in names)]
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
        metadata=f.stated({**metadata, "flags": list(flags)}),
        body=_page(name, description, brought),
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _page(name: str, description: str, brought: Brought) -> str:
    lists = (
        f"## {part.replace('_', ' ')}\n\n" + "\n".join(f"- {each}" for each in names)
        for part, names in brought.named().items()
    )
    return "\n\n".join(filter(None, [f"# {name}", description, *lists])) + "\n"


def _brought(directory: str, plugin: str, manifest: Mapping[str, object]) -> Brought:
    whole = Plugin(plugin, directory)
    hooks = _beside(directory, manifest, "hooks", ("hooks/hooks.json",))
    servers = _beside(directory, manifest, "mcpServers", (".mcp.json", "mcp.json"))
    return Brought(
        skills=_skills(whole),
        agents=_files(whole, "agents"),
        commands=_files(whole, "commands"),
        rules=_files(whole, "rules"),
        mcp_servers=_keys(servers, "mcpServers"),
        hooks=_keys(hooks, "hooks"),
    )


def _skills(plugin: Plugin) -> tuple[str, ...]:
    found = []
    for place in places_of(plugin, "skills"):
        for name in [".", *_listed(place)]:
            directory = os.path.normpath(os.path.join(place, name))
            if any(os.path.isfile(os.path.join(directory, each)) for each in SKILL_NAMES):
                found.append(os.path.basename(directory))
    return tuple(found[:_MANY])


def _files(plugin: Plugin, part: str) -> tuple[str, ...]:
    found: list[str] = []
    for place in places_of(plugin, part):
        names = _below(place) if os.path.isdir(place) else [os.path.basename(place)]
        found += [os.path.splitext(name)[0] for name in names if name.endswith(_FILES[part])]
    return tuple(dict.fromkeys(found[:_MANY]))


def _below(place: str) -> list[str]:
    found = []
    with open_directory(place) as descriptor:
        for _, directories, names, _ in os.fwalk(".", dir_fd=descriptor):
            directories[:] = sorted(set(directories) - PRUNED)
            found += sorted(names)
    return found


def _listed(place: str) -> list[str]:
    if not os.path.isdir(place):
        return []
    with open_directory(place) as descriptor:
        return sorted(os.listdir(descriptor))


def _beside(
    directory: str, manifest: Mapping[str, object], key: str, files: tuple[str, ...]
) -> Mapping[str, object]:
    """Return the value of a manifest's key, or of the file that it names or that is usual."""
    value = manifest.get(key)
    if isinstance(value, dict):
        return value
    named = (value,) if isinstance(value, str) else files
    for name in named:
        path = resolved(os.path.join(directory, name))
        if path.startswith(directory + "/") and os.path.isfile(path):
            return _object(path, read_regular(path, 1_000_000))
    return {}


def _keys(manifest: Mapping[str, object], wrapped: str) -> tuple[str, ...]:
    inner = manifest.get(wrapped)
    return tuple(sorted(inner if isinstance(inner, dict) else manifest))[:_MANY]


def _part(manifest: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = manifest.get(key)
    return value if isinstance(value, dict) else {}


def _object(path: str, data: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not valid JSON: {error}", "repair the file") from error
    if not isinstance(value, dict):
        raise SourceError(f"{path}: not a JSON object", "repair the file")
    return value


_OPTIONS = {"max_depth": int, "max_bytes": int}
_ROOTS = (
    ("claude", "plugins", "plugin"),
    ("codex", "plugins", "plugin"),
    ("home", ".cursor/plugins", "plugin"),
    ("home", ".gemini/extensions", "plugin"),
    ("home", ".agents/plugins", "plugin"),
)
known_roots = partial(existing_places, _ROOTS)
known_places = partial(list_places, _ROOTS)
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
