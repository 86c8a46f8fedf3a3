"""Read Cargo.toml, looking up in its workspace what it inherits from there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irdaemon.source.packages.manifest import (
    Manifest,
    as_table,
    choose_links,
    choose_person,
    clean_text,
    clean_texts,
    make_manifest,
    read_toml,
    write_dependency,
)
from irdaemon.types import SourceError

_MANIFEST = "Cargo.toml"
_NEEDED = ("dependencies", "build-dependencies")
_DEV = ("dev-dependencies",)


@dataclass(frozen=True, slots=True)
class _Workspace:
    """What members of a workspace may inherit."""

    package: Mapping[str, object]
    dependencies: Mapping[str, object]
    flags: tuple[str, ...] = ()


def load(directory: str) -> Manifest | None:
    """Read the crate in `directory`; None for a workspace root, which is no crate itself."""
    content = read_toml(os.path.join(directory, _MANIFEST))
    package = as_table(content.get("package") or content.get("project"))
    if not package:
        return None
    return _inherit(package, content, _find_workspace(directory, content, package))


def describe_crate(content: Mapping[str, object]) -> Manifest:
    """Return what the content of a Cargo.toml says of its crate, without its workspace."""
    package = as_table(content.get("package") or content.get("project"))
    return _inherit(package, content, _Workspace({}, {}))


def _inherit(
    package: Mapping[str, object], content: Mapping[str, object], workspace: _Workspace
) -> Manifest:
    inherited = {key: workspace.package.get(key) for key in package if _is_inherited(package[key])}
    return _make_manifest({**package, **inherited}, content, workspace)


def _make_manifest(
    package: Mapping[str, object], content: Mapping[str, object], workspace: _Workspace
) -> Manifest:
    links = choose_links({key: package.get(key) for key in ("homepage", "repository")})
    return replace(
        make_manifest(package, choose_person(package.get("authors")), links),
        deps=_list_dependencies(content, _NEEDED, workspace),
        optional_deps=_list_dependencies(content, _NEEDED, workspace, optional=True),
        dev_deps=_list_dependencies(content, _DEV, workspace),
        commands=clean_texts(
            [as_table(program).get("name") for program in _as_list(content.get("bin"))]
        ),
        private=package.get("publish") is False,
        flags=workspace.flags,
    )


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_inherited(value: object) -> bool:
    return as_table(value).get("workspace") is True


def _find_workspace(
    directory: str, content: Mapping[str, object], package: Mapping[str, object]
) -> _Workspace:
    own = as_table(content.get("workspace"))
    named = clean_text(package.get("workspace"))
    above = [os.path.normpath(os.path.join(directory, named))] if named else list_parents(directory)
    try:
        found = own or next((w for d in above if (w := _read_workspace(d))), {})
    except SourceError:
        return _Workspace({}, {}, ("broken_manifest",))
    return _Workspace(as_table(found.get("package")), as_table(found.get("dependencies")))


def list_parents(directory: str) -> Iterator[str]:
    """Yield the directories above `directory` that hold a Cargo.toml, nearest first."""
    while (above := os.path.dirname(directory)) != directory:
        directory = above
        if os.path.isfile(os.path.join(directory, _MANIFEST)):
            yield directory


def _read_workspace(directory: str) -> Mapping[str, object]:
    try:
        return as_table(read_toml(os.path.join(directory, _MANIFEST)).get("workspace"))
    except FileNotFoundError:
        return {}


def _list_dependencies(
    content: Mapping[str, object],
    kinds: tuple[str, ...],
    workspace: _Workspace,
    optional: bool = False,
) -> tuple[str, ...]:
    tables = [content, *map(as_table, as_table(content.get("target")).values())]
    wanted = [item for t in tables for kind in kinds for item in as_table(t.get(kind)).items()]
    chosen = [
        (name, spec)
        for name, spec in wanted
        if (as_table(spec).get("optional") is True) is optional
    ]
    return clean_texts([_write_dependency(name, spec, workspace) for name, spec in chosen])


def _write_dependency(name: str, spec: object, workspace: _Workspace) -> str:
    if _is_inherited(spec):
        spec = workspace.dependencies.get(name)
    details = as_table(spec)  # `package` is the crate's name when it is imported under another
    return write_dependency(details.get("package") or name, details.get("version") or spec)
