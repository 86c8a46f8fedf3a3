"""Find the installed and enabled plugins of an agent's plugin directory.

Such a directory (a store) holds `installed_plugins.json`, versions of plugins below
`cache/<marketplace>/<plugin>/<version>`, and clones of marketplaces, which are not installed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeGuard

from irdaemon.source.opening import follow_link, is_within, list_entries, read_regular, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.tree import check_root, is_directory, resolve_root
from irdaemon.types import Problem, Root, SourceError

_LIMIT = 4_000_000


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed plugin: `id` is `name@marketplace`, `path` its real root directory."""

    id: str
    path: str


def find_store(path: str) -> str:
    """Return the plugin store that `path` is or lies in, "" when it is in none."""
    while path not in ("/", ""):
        if _is_store(path):
            return path
        path = os.path.dirname(path)
    return ""


def list_control_files(store: str) -> tuple[str, ...]:
    """Return the files that decide which plugins of a store are in use."""
    settings = os.path.join(os.path.dirname(store), "settings.json")
    return os.path.join(store, "installed_plugins.json"), settings


class PluginSource(RootSource):
    """The roots and options of a source that reads directories, plugin stores among them.

    A project brings no plugins: where its source is `within` one, no root is a store.
    """

    def __init__(
        self,
        kind: str,
        roots: tuple[Root, ...],
        options: Mapping[str, object],
        max_depth: int,
        max_bytes: int,
    ):
        super().__init__(roots)
        defaults = {"max_depth": max_depth, "max_bytes": max_bytes}
        given = read_options(kind, options, defaults)
        self._depth: int = given["max_depth"]
        self._max_bytes: int = given["max_bytes"]
        self._project = roots[0].within if roots else ""

    def roots(self) -> tuple[Root, ...]:
        """Return the given places, and the settings that enable the plugins in them.

        Settings made later are found by the next whole scan.
        """
        settings = (list_control_files(store)[1] for store in self._list_stores())
        return (*self._roots, *(Root(p, "plugin") for p in settings if os.path.lexists(p)))

    def _list_stores(self) -> list[str]:
        paths = () if self._project else map(resolve_root, self._roots)
        return [path for path in dict.fromkeys(paths) if path and find_store(path) == path]

    def _decides_plugins(self, path: str) -> bool:
        """Return whether a file decides which plugins are in use, or what one holds."""
        if self._project:
            return False
        around = find_store(path)
        stores = self._list_stores() + [around] * bool(around)
        if any(path in list_control_files(store) for store in stores):
            return True
        return bool(around) and os.path.basename(path) == "plugin.json"


def visit_plugins(store: str, problems: list[Problem], visit: Callable[[Plugin], None]) -> None:
    """Visit the plugins in use in a store; what fails is added to the problems."""
    try:
        plugins = list_plugins(store)
    except SourceError as error:
        problems.append(Problem(store, error.message))
        return
    for plugin in plugins:
        if problem := check_root(Root(plugin.path)):
            problems.append(problem)
            continue
        try:
            visit(plugin)
        except SourceError as error:
            problems.append(Problem(plugin.path, error.message))


def list_plugins(store: str) -> tuple[Plugin, ...]:
    """Return the plugins of a store that are installed and enabled, in the order of their ids.

    Without `installed_plugins.json`, the newest version of each cached plugin. Raises SourceError
    when a file that decides about it cannot be parsed.
    """
    installed, settings = list_control_files(store)
    if not os.path.lexists(installed):
        return tuple(_list_newest(os.path.join(store, "cache")))
    records = _read_json(resolve_path(installed)).get("plugins")
    enabled = _read_enabled(settings)
    found = {
        Plugin(id, resolve_path(path))
        for id, record in _list_records(records)
        if _is_path(path := record.get("installPath"))
        and os.path.isabs(path)
        and _is_enabled(id, record, enabled)
    }
    return tuple(sorted(found, key=lambda plugin: (plugin.id, plugin.path)))


def explain_unused(path: str, part: str) -> str:
    """Return why no plugin in use has a file as `part` (see `find_places`), "" where one may.

    A file in no store may be. A manifest that cannot be parsed decides nothing.
    """
    store = find_store(path)
    if not store:
        return ""
    try:
        plugins = [(each.path, find_places(each, part)) for each in list_plugins(store)]
    except SourceError:
        return "in a plugin store that cannot be read"
    for top, places in plugins:
        if os.path.dirname(path) == top or any(is_within(path, place) for place in places):
            return ""
    return "in a plugin that is not in use"


def find_places(plugin: Plugin, part: str) -> tuple[str, ...]:
    """Return the files and directories in which a plugin keeps `part`; never one outside its root.

    The paths under that key of its manifest are added to the default directory for skills, and
    replace it for anything else. Raises SourceError when the manifest is not JSON.
    """
    manifest = os.path.join(plugin.path, ".claude-plugin", "plugin.json")
    held = _read_json(follow_link(manifest, by_name=True)) if os.path.isfile(manifest) else {}
    named = held.get(part)
    paths = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    default = [part] if part == "skills" or not paths else []
    places = [os.path.join(plugin.path, path) for path in [*default, *paths] if _is_path(path)]
    inside = [path for path in map(resolve_path, places) if is_within(path, plugin.path)]
    return tuple(dict.fromkeys(path for path in inside if os.path.exists(path)))


def find_plugin(path: str, stores: Iterable[str]) -> str:
    """Return the id of the plugin that `path` lies in, "" for none.

    The store around the path and `stores` are searched, since a store may link to it.
    """
    around = [store for store in [find_store(path)] if store]
    for store in dict.fromkeys([*around, *stores]):
        with suppress(SourceError):
            for plugin in list_plugins(store):
                if is_within(path, plugin.path):
                    return plugin.id
    return ""


def _is_store(path: str) -> bool:
    if os.path.basename(path) != "plugins":
        return False
    installed = os.path.join(path, "installed_plugins.json")
    return os.path.isfile(installed) or os.path.isdir(os.path.join(path, "cache"))


def _list_records(plugins: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each installation; format 1 has one per plugin, format 2 a list of them."""
    for id, records in plugins.items() if isinstance(plugins, dict) else ():
        for record in records if isinstance(records, list) else [records]:
            if isinstance(record, dict):
                yield str(id), record


def _is_enabled(id: str, record: dict[str, object], enabled: dict[str, object] | None) -> bool:
    project = record.get("projectPath")
    if isinstance(project, str):
        of_project = _read_enabled(os.path.join(project, ".claude", "settings.json"))
        if of_project is not None and id in of_project:
            return bool(of_project[id])
    return enabled is None or bool(enabled.get(id))


def _read_enabled(settings: str) -> dict[str, object] | None:
    """Return the plugins that a settings file enables or disables; None when it names none."""
    if not os.path.lexists(settings):
        return None
    enabled = _read_json(resolve_path(settings)).get("enabledPlugins")
    return enabled if isinstance(enabled, dict) else None


def _list_newest(cache: str) -> Iterator[Plugin]:
    for marketplace in _list_directories(cache):
        for plugin in _list_directories(marketplace):
            versions = [(_read_mtime_ns(path), path) for path in _list_directories(plugin)]
            if versions:
                id = f"{os.path.basename(plugin)}@{os.path.basename(marketplace)}"
                yield Plugin(id, resolve_path(max(versions)[1]))


def _list_directories(path: str) -> list[str]:
    return sorted(entry.path for entry in list_entries(path) if is_directory(entry))


def _read_mtime_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _is_path(path: object) -> TypeGuard[str]:
    return isinstance(path, str) and "\0" not in path


def _read_json(path: str) -> dict[str, object]:
    """Read a JSON object. Raises SourceError, also when the file is gone or is no object."""
    try:
        data = read_regular(path, _LIMIT)
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file", "repair or remove the link") from error
    return parse_object(path, data)


def parse_object(path: str, data: bytes) -> dict[str, Any]:
    """Parse the JSON object in a file. Raises SourceError."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not valid JSON: {error}", "repair the file") from error
    if not isinstance(value, dict):
        raise SourceError(f"{path}: not a JSON object", "repair the file")
    return value
