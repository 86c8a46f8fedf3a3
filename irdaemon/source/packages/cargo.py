"""Read Cargo.toml, looking up in its workspace what it inherits from there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from irdaemon.source.packages.manifest import (
    Manifest,
    dependency,
    first_person,
    license_name,
    read_toml,
    table,
    text,
    texts,
    web_url,
    words,
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
    package = table(content.get("package") or content.get("project"))
    if not package:
        return None
    workspace = _workspace(directory, content, package)
    values = {key: _inherited(value, workspace.package.get(key)) for key, value in package.items()}
    return _manifest(values, content, workspace)


def _manifest(
    package: Mapping[str, object], content: Mapping[str, object], workspace: _Workspace
) -> Manifest:
    author = first_person(package.get("authors"))
    return Manifest(
        name=text(package.get("name")),
        version=text(package.get("version")),
        description=text(package.get("description")),
        owner=author.name,
        email=author.email,
        license=license_name(package.get("license")),
        homepage=web_url(package.get("homepage")),
        repository=web_url(package.get("repository")),
        deps=_dependencies(content, _NEEDED, workspace),
        optional_deps=_dependencies(content, _NEEDED, workspace, optional=True),
        dev_deps=_dependencies(content, _DEV, workspace),
        keywords=words(package.get("keywords")),
        commands=texts([table(program).get("name") for program in _list(content.get("bin"))]),
        private=package.get("publish") is False,
        flags=workspace.flags,
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _from_workspace(value: object) -> bool:
    return table(value).get("workspace") is True


def _inherited(value: object, offered: object) -> object:
    return offered if _from_workspace(value) else value


def _workspace(
    directory: str, content: Mapping[str, object], package: Mapping[str, object]
) -> _Workspace:
    own = table(content.get("workspace"))
    named = text(package.get("workspace"))
    above = [os.path.normpath(os.path.join(directory, named))] if named else parents(directory)
    try:
        found = own or next((w for d in above if (w := _declared(d))), {})
    except SourceError:
        return _Workspace({}, {}, ("broken_manifest",))
    return _Workspace(table(found.get("package")), table(found.get("dependencies")))


def parents(directory: str) -> Iterator[str]:
    """Yield the directories above `directory` that hold a Cargo.toml, nearest first."""
    while (above := os.path.dirname(directory)) != directory:
        directory = above
        if os.path.isfile(os.path.join(directory, _MANIFEST)):
            yield directory


def _declared(directory: str) -> Mapping[str, object]:
    try:
        return table(read_toml(os.path.join(directory, _MANIFEST)).get("workspace"))
    except FileNotFoundError:
        return {}


def _dependencies(
    content: Mapping[str, object],
    kinds: tuple[str, ...],
    workspace: _Workspace,
    optional: bool = False,
) -> tuple[str, ...]:
    tables = [content, *map(table, table(content.get("target")).values())]
    wanted = [item for t in tables for kind in kinds for item in table(t.get(kind)).items()]
    chosen = [item for item in wanted if _is_optional(item[1]) is optional]
    return texts([_dependency(name, spec, workspace) for name, spec in chosen])


def _is_optional(spec: object) -> bool:
    return table(spec).get("optional") is True


def _dependency(name: str, spec: object, workspace: _Workspace) -> str:
    if _from_workspace(spec):
        spec = workspace.dependencies.get(name)
    details = table(spec)  # `package` is the crate's name when it is imported under another
    return dependency(details.get("package") or name, details.get("version") or spec)
