"""Read package.json."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from irdaemon.source.packages.manifest import (
    Manifest,
    as_list,
    as_table,
    clean_text,
    clean_texts,
    make_manifest,
    parse_json,
    read_text,
    write_dependency,
)

# A peer dependency is installed with the package (npm 7), so it counts as one.
_NEEDED = ("dependencies", "peerDependencies")
_DEFINING = ("version", "description", "scripts", *_NEEDED)


def load(directory: str) -> Manifest | None:
    """Read the package in `directory`; None when its package.json defines none.

    That is one without a name that only lists workspaces, or only sets what its directory needs
    (`{"type": "module"}`); members of a workspace are packages of their own directories.
    """
    path = os.path.join(directory, "package.json")
    content = parse_json(read_text(path), path)
    return describe_package(content) if _defines_package(content) else None


def _defines_package(content: Mapping[str, object]) -> bool:
    if clean_text(content.get("name")):
        return True
    return not content.get("workspaces") and any(content.get(key) for key in _DEFINING)


def describe_package(content: Mapping[str, object]) -> Manifest:
    """Return what the content of a package.json says of its package."""
    people = tuple(content.get(key) for key in ("author", "maintainers", "contributors"))
    repository = _get_value(content.get("repository"), "url")
    urls = {"homepage": content.get("homepage"), "repository": repository}
    older = as_list(content.get("licenses"))
    licence = _get_value(content.get("license") or (older[0] if older else None), "type")
    return replace(
        make_manifest({**content, "license": licence}, people, urls),
        deps=_list_dependencies(content, *_NEEDED),
        optional_deps=_list_dependencies(content, "optionalDependencies"),
        dev_deps=_list_dependencies(content, "devDependencies"),
        commands=_list_commands(content),
        private=content.get("private") is True,
    )


def _get_value(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else value


def _list_dependencies(content: Mapping[str, object], *keys: str) -> tuple[str, ...]:
    stated = [item for key in keys for item in as_table(content.get(key)).items()]
    first = {name: spec for name, spec in reversed(stated)}
    return clean_texts(
        [write_dependency(name, first[name]) for name in dict.fromkeys(n for n, _ in stated)]
    )


def _list_commands(content: Mapping[str, object]) -> tuple[str, ...]:
    programs = content.get("bin")
    if isinstance(programs, str):  # one program, called as the package is, without its scope
        return clean_texts(clean_text(content.get("name")).rpartition("/")[2])
    return clean_texts(list(as_table(programs)))
