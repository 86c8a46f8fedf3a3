"""MCP tools: from dumps of `tools/list` answers, or from memory."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar, Self, TypeGuard

from irdaemon.source.frontmatter import get_table
from irdaemon.source.mapping import simplify, stamp_content, write_canonical_json
from irdaemon.source.opening import is_within, read_regular, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.tree import (
    EVERYTHING,
    Symlinks,
    Walk,
    check_root,
    confine_change,
    is_searched,
    make_entry,
    make_scan,
)
from irdaemon.types import Artifact, Entry, Problem, Reading, Root, Scan, SourceError


class McpTools(RootSource):
    """Serve the tools in JSON dumps: `tools/list` answers, their results, bare lists or pages.

    Roots are dumps or directories of them (`*.json`). A dump's file name without suffix names the
    server, so a tool's id is `server/name`; a second dump of the same name is a problem. A dump
    may also map names of servers to any of these. Options: `max_bytes` (8,000,000), the largest
    dump to read.
    """

    limits: ClassVar[tuple[str, ...]] = ("max_bytes",)

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        given = read_options("mcp_tools", options, {"max_bytes": 8_000_000})
        self._max_bytes: int = given["max_bytes"]
        self._memory: dict[str, Artifact] | None = None

    @classmethod
    def from_tools(cls, tools: Iterable[Mapping[str, Any]], server: str = "") -> Self:
        """Serve tool definitions held in memory."""
        source = cls((), {})
        source._memory = {tool.artifact_id: tool for tool in make_artifacts(tools, server)}
        return source

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the dumps, or the tools in memory."""
        if self._memory is not None:
            return _scan_memory(self._memory) if under is None else Scan((), ())
        tops = tuple(resolve_path(root.path) for root in self._roots)
        where = EVERYTHING if under is None else confine_change(under, tops)
        found, problems = self._list_dumps()
        entries = [entry for entry in found if is_within(entry.path, where)]
        if where and not entries and os.path.lexists(where):
            return Scan((), ())
        return make_scan(entries, where, problems)

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

    def _list_dumps(self) -> tuple[list[Entry], list[Problem]]:
        problems: list[Problem] = []
        found: dict[str, Entry] = {}
        for root in self._roots:
            for path in _list_files(root, Symlinks.from_roots(self._roots), problems):
                try:
                    found.setdefault(path, make_entry(path, root.scope, os.stat(path)))
                except OSError as error:
                    problems.append(Problem(path, error.strerror or str(error)))
        servers: dict[str, Entry] = {}
        for entry in sorted(found.values(), key=lambda entry: entry.key):
            name = _name_server(entry.path)
            if servers.setdefault(name, entry) is not entry:  # its tools would replace the others
                reason = f"another dump is named {name!r} already: rename one"
                problems.append(Problem(entry.path, reason))
        return list(servers.values()), problems


def list_known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directory of the dumps, existing or not."""
    return (Root(find_dump_directory(home, env)),)


def find_dump_directory(home: str, env: Mapping[str, str]) -> str:
    """Return the directory in which answers of servers are kept."""
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(os.path.abspath(data), "irdaemon", "mcp_tools")


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
    if problem := check_root(root):
        problems.append(problem)
        return
    walk = Walk(symlinks)
    for _, found in walk.walk_directories(resolve_path(root.path), is_searched):
        dumps = (entry.path for entry in found if entry.name.endswith(".json"))
        yield from (resolve_path(path) for path in dumps if os.path.isfile(path))
    problems.extend(walk.problems)


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


# The names a tool's JSON schema goes by: MCP's, its Python SDK's, and function calling's.
_SCHEMAS = ("inputSchema", "input_schema", "parameters")
DUPLICATE = "duplicate_tool"


def make_artifacts(tools: Iterable[object], server: str) -> tuple[Artifact, ...]:
    """Return an artifact for each tool that has a name, in the given order.

    A tool whose name was already taken gets a numbered id and the flag DUPLICATE.
    """
    seen: Counter[str] = Counter()
    found = []
    for tool in tools:
        if is_tool(tool):
            seen[tool["name"]] += 1
            found.append(_make_artifact(tool, server, seen[tool["name"]]))
    return tuple(found)


def is_tool(tool: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a value is a tool's definition: a mapping with a name."""
    name = tool.get("name") if isinstance(tool, Mapping) else None
    return isinstance(name, str) and bool(name.strip())


def read_definition(tool: object, called: str | None = None) -> object:
    """Return the attributes of an object as a definition; anything else unchanged.

    `called` is the name of an object that describes itself and has none.
    """
    if isinstance(tool, (str, Mapping)):  # a text has a `title`, too
        return tool
    found = {key: getattr(tool, key, None) for key in ("title", "description", *_SCHEMAS)}
    stated = {key: value for key, value in found.items() if value is not None}
    name = getattr(tool, "name", called if stated else None)
    return {"name": name, **stated} if isinstance(name, str) else tool


def _make_artifact(tool: Mapping[str, Any], server: str, nth: int) -> Artifact:
    name = tool["name"]
    id = (f"{server}/{name}" if server else name) + (f"#{nth}" if nth > 1 else "")
    schema = next((get_table(tool, key) for key in _SCHEMAS if get_table(tool, key)), {})
    flags = (DUPLICATE,) if nth > 1 else ()
    return Artifact(
        artifact_id=id,
        raw={
            "name": name,
            "description": _get_text(tool, "description") or _find_title(tool),
            "parameters": write_canonical_json(schema),
            "text": "",
            "lexical": _collect_words(tool, schema),
        },
        name=name,
        metadata=_make_metadata(tool, server, schema) | ({"flags": list(flags)} if flags else {}),
        body=json.dumps(simplify(tool), indent=2, ensure_ascii=False),
        flags=flags,
    )


def _make_metadata(
    tool: Mapping[str, Any], server: str, schema: Mapping[str, Any]
) -> dict[str, Any]:
    read_only = get_table(tool, "annotations").get("readOnlyHint")
    stated = {"server": server, "title": _find_title(tool)}
    return {
        "param_names": list(map(str, get_table(schema, "properties"))),
        **{name: text for name, text in stated.items() if text},
        **({"read_only": read_only} if isinstance(read_only, bool) else {}),
    }


def _collect_words(tool: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return the title, and each parameter with its description and possible values."""
    lines = [_find_title(tool)]
    properties = get_table(schema, "properties")
    for name in sorted(properties, key=str):
        parameter = get_table(properties, name)
        values = parameter.get("enum")
        words = map(str, values if isinstance(values, list) else [])
        lines.append(
            " ".join(filter(None, [str(name), _get_text(parameter, "description"), *words]))
        )
    return "\n".join(filter(None, lines))


def _find_title(tool: Mapping[str, Any]) -> str:
    return _get_text(tool, "title") or _get_text(get_table(tool, "annotations"), "title")


def _get_text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""
