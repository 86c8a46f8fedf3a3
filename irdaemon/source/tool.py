"""Turn the definition of an MCP tool into an artifact."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from irdaemon.source.mapping import simplify, write_canonical_json
from irdaemon.types import Artifact

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
    """Return the definition that an object's attributes are; anything else as it is.

    `called` is the name of an object that describes itself and has none.
    """
    if isinstance(tool, (str, Mapping)):  # a text has a `title`, too
        return tool
    found = {key: getattr(tool, key, None) for key in ("title", "description", *_SCHEMAS)}
    told = {key: value for key, value in found.items() if value is not None}
    name = getattr(tool, "name", called if told else None)
    return {"name": name, **told} if isinstance(name, str) else tool


def _make_artifact(tool: Mapping[str, Any], server: str, nth: int) -> Artifact:
    name = tool["name"]
    id = (f"{server}/{name}" if server else name) + (f"#{nth}" if nth > 1 else "")
    schema = _find_schema(tool)
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
    found: dict[str, Any] = {"param_names": list(_list_properties(schema))}
    found |= {"server": server} if server else {}
    found |= {"title": _find_title(tool)} if _find_title(tool) else {}
    hints = tool.get("annotations")
    read_only = hints.get("readOnlyHint") if isinstance(hints, Mapping) else None
    return found | ({"read_only": read_only} if isinstance(read_only, bool) else {})


def _find_schema(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), Mapping)), {})


def _list_properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found = schema.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): value if isinstance(value, Mapping) else {} for name, value in found.items()}


def _collect_words(tool: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Name the title and each parameter with what it is for and the values it may take."""
    lines = [_find_title(tool)]
    for name, about in sorted(_list_properties(schema).items()):
        allowed = about.get("enum")
        values = [str(value) for value in allowed] if isinstance(allowed, list) else []
        lines.append(" ".join(filter(None, [name, _get_text(about, "description"), *values])))
    return "\n".join(filter(None, lines))


def _find_title(tool: Mapping[str, Any]) -> str:
    hints = tool.get("annotations")
    return _get_text(tool, "title") or (
        _get_text(hints, "title") if isinstance(hints, Mapping) else ""
    )


def _get_text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""
