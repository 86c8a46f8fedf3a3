"""Read Cargo.toml, with the values that it inherits from its workspace."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from irdaemon.source.packages.manifest import (
    Manifest,
    as_list,
    as_table,
    clean_text,
    clean_texts,
    make_manifest,
    parse_toml,
    read_text,
    write_dependency,
)
from irdaemon.types import SourceError

_MANIFEST = "Cargo.toml"
_NEEDED = ("dependencies", "build-dependencies")
_DEV = ("dev-dependencies",)


@dataclass(frozen=True, slots=True)
class _Workspace:
    """The tables that members of a workspace may inherit from."""

    package: Mapping[str, object]
    dependencies: Mapping[str, object]
    flags: tuple[str, ...] = ()


def load(directory: str) -> Manifest | None:
    """Read the crate in `directory`; None for a workspace root, which is no crate itself."""
    content = _read_content(directory)
    package = as_table(content.get("package") or content.get("project"))
    if not package:
        return None
    return _make_manifest(package, content, _find_workspace(directory, content, package))


def describe_crate(content: Mapping[str, object]) -> Manifest:
    """Return what the content of a Cargo.toml says of its crate, without its workspace."""
    package = as_table(content.get("package") or content.get("project"))
    return _make_manifest(package, content, _Workspace({}, {}))


def _make_manifest(
    package: Mapping[str, object], content: Mapping[str, object], workspace: _Workspace
) -> Manifest:
    inherited = {key: workspace.package.get(key) for key in package if _is_inherited(package[key])}
    package = {**package, **inherited}
    urls = {key: package.get(key) for key in ("homepage", "repository")}
    return replace(
        make_manifest(package, (package.get("authors"),), urls),
        deps=_list_dependencies(content, _NEEDED, workspace),
        optional_deps=_list_dependencies(content, _NEEDED, workspace, optional=True),
        dev_deps=_list_dependencies(content, _DEV, workspace),
        commands=clean_texts(
            [as_table(program).get("name") for program in as_list(content.get("bin"))]
        ),
        private=package.get("publish") is False,
        flags=workspace.flags,
    )


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
        return as_table(_read_content(directory).get("workspace"))
    except FileNotFoundError:
        return {}


def _read_content(directory: str) -> Mapping[str, object]:
    path = os.path.join(directory, _MANIFEST)
    return parse_toml(read_text(path), path)


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
