"""MCP tools: from dumps of `tools/list` answers, or handed over in memory."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Self

from irdaemon.source.affected import EVERYTHING, confine_change
from irdaemon.source.mapping import stamp_content
from irdaemon.source.opening import read_regular, resolve_path
from irdaemon.source.options import check_options, get_number
from irdaemon.source.symlinks import Symlinks
from irdaemon.source.tool import is_tool, make_artifacts
from irdaemon.source.tree import (
    Walk,
    check_root,
    is_searched,
    is_within,
    make_stamp,
    shorten_path,
)
from irdaemon.types import Artifact, Entry, Problem, Reading, Root, Scan, SourceError

_OPTIONS = {"max_bytes": int}


class McpTools:
    """Serve the tools in JSON dumps: `tools/list` answers, their results, bare lists or pages.

    Roots are dumps or directories of them (`*.json`). A dump's file name without suffix names the
    server, so a tool's id is `server/name`; a second dump of the same name is a problem. A dump
    may also map names of servers to any of these. Options: `max_bytes` (8,000,000), the largest
    dump to read.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        given = check_options("mcp_tools", options, _OPTIONS)
        self._roots = roots
        self._max_bytes = get_number(given, "max_bytes", 8_000_000)
        self._memory: dict[str, Artifact] | None = None

    @classmethod
    def from_tools(cls, tools: Iterable[Mapping[str, Any]], server: str = "") -> Self:
        """Serve tool definitions held in memory."""
        source = cls((), {})
        source._memory = {tool.artifact_id: tool for tool in make_artifacts(tools, server)}
        return source

    def roots(self) -> tuple[Root, ...]:
        """Return the given dumps and directories."""
        return self._roots

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the dumps, or the tools in memory."""
        if self._memory is not None:
            return _scan_memory(self._memory) if under is None else Scan((), ())
        where = EVERYTHING if under is None else confine_change(under, self._tops())
        found, problems = self._dumps()
        entries = [entry for entry in found if is_within(entry.path, where)]
        if where and not entries and os.path.lexists(where):
            return Scan((), ())
        return Scan(tuple(entries), (where,), tuple(problems))

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read the tools of one dump; definitions without a name are counted as skipped."""
        if self._memory is not None:
            if entry.key not in self._memory:
                raise FileNotFoundError(entry.key)
            return Reading((self._memory[entry.key],))
        servers = _read_servers(entry.path, read_regular(entry.path, self._max_bytes))
        nameless = sum(not is_tool(tool) for tools in servers.values() for tool in tools)
        skipped = {"tool without a name": nameless} if nameless else {}
        made = (make_artifacts(tools, server) for server, tools in servers.items())
        return Reading(tuple(chain.from_iterable(made)), skipped=skipped)

    def _tops(self) -> tuple[str, ...]:
        return tuple(resolve_path(root.path) for root in self._roots)

    def _dumps(self) -> tuple[list[Entry], list[Problem]]:
        problems: list[Problem] = []
        found: dict[str, Entry] = {}
        for root in self._roots:
            for path in _list_files(root, Symlinks.of(self._roots), problems):
                try:
                    found.setdefault(path, _make_entry(path, root.scope))
                except OSError as error:
                    problems.append(Problem(path, error.strerror or str(error)))
        return _drop_repeated(sorted(found.values(), key=lambda entry: entry.key), problems)


def known_roots(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directory of the dumps that were asked for here, if there are any."""
    return tuple(root for root in known_places(home, env) if os.path.isdir(root.path))


def known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directory of the dumps, existing or not."""
    return (Root(find_dump_directory(home, env)),)


def find_dump_directory(home: str, env: Mapping[str, str]) -> str:
    """Return the directory in which answers of servers are kept."""
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(os.path.abspath(data), "irdaemon", "mcp_tools")


def _make_entry(path: str, scope: str) -> Entry:
    status = os.stat(path)
    return Entry(shorten_path(path), path, make_stamp(status), status.st_mtime_ns, scope)


def _scan_memory(tools: Mapping[str, Artifact]) -> Scan:
    stamps = {id: stamp_content(json.loads(tool.body or "")) for id, tool in tools.items()}
    entries = [Entry(id, "", stamp) for id, stamp in sorted(stamps.items())]
    problems = [Problem(id, "a second tool of this name") for id in tools if tools[id].flags]
    return Scan(tuple(entries), ("",), tuple(problems))


def _list_files(root: Root, symlinks: Symlinks, problems: list[Problem]) -> Iterator[str]:
    """Yield the real paths of the dumps at or below a root."""
    if os.path.isfile(root.path):
        yield resolve_path(root.path)
        return
    problem = check_root(root)
    if problem:
        problems.append(problem)
        return
    walk = Walk(symlinks)
    for _, found in walk.directories(resolve_path(root.path), is_searched):
        dumps = (entry.path for entry in found if entry.name.endswith(".json"))
        yield from (resolve_path(path) for path in dumps if os.path.isfile(path))
    problems.extend(walk.problems)


def _drop_repeated(
    entries: list[Entry], problems: list[Problem]
) -> tuple[list[Entry], list[Problem]]:
    """Keep the first dump of each name: two would overwrite each other's tools."""
    servers: Counter[str] = Counter()
    kept = []
    for entry in entries:
        servers[_name_server(entry.path)] += 1
        if servers[_name_server(entry.path)] == 1:
            kept.append(entry)
        else:
            reason = f"another dump is named {_name_server(entry.path)!r} already: rename one"
            problems.append(Problem(entry.path, reason))
    return kept, problems


def _name_server(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _read_servers(path: str, data: bytes) -> dict[str, list[object]]:
    """Return the tools in a dump, by server."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not valid JSON: {error}", "dump the tools again") from error
    tools = _find_tools(value)
    if tools is not None:
        return {_name_server(path): tools}
    named = value.items() if isinstance(value, dict) else ()
    servers = {name: found for name, value in named if (found := _find_tools(value)) is not None}
    if not servers:
        raise SourceError(f"{path}: no list of tools in it", "dump the answer of tools/list")
    return servers


def _find_tools(value: object) -> list[object] | None:
    """Return the list in an answer, a result, a list or a list of pages; None in anything else."""
    for key in ("result", "tools"):
        value = value.get(key, value) if isinstance(value, dict) else value
    if not isinstance(value, list):
        return None
    pages = [_find_tools(each) if not is_tool(each) else None for each in value]
    found = ([each] if page is None else page for each, page in zip(value, pages, strict=True))
    return list(chain.from_iterable(found))
