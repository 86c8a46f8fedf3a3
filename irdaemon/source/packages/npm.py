"""Read package.json."""

from __future__ import annotations

import os
from collections.abc import Mapping

from irdaemon.source.packages.manifest import (
    Manifest,
    dependency,
    first_person,
    license_name,
    read_json,
    table,
    text,
    texts,
    web_url,
    words,
)

# A peer dependency is installed with the package (npm 7), so it counts as one.
_NEEDED = ("dependencies", "peerDependencies")
_DEFINING = ("version", "description", "scripts", *_NEEDED)


def load(directory: str) -> Manifest | None:
    """Read the package in `directory`; None when its package.json defines none.

    That is one without a name that only lists workspaces, or only sets what its directory needs
    (`{"type": "module"}`); members of a workspace are packages of their own directories.
    """
    content = read_json(os.path.join(directory, "package.json"))
    return _manifest(content) if _defines_package(content) else None


def _defines_package(content: Mapping[str, object]) -> bool:
    if text(content.get("name")):
        return True
    return not content.get("workspaces") and any(content.get(key) for key in _DEFINING)


def _manifest(content: Mapping[str, object]) -> Manifest:
    author = first_person(
        content.get("author"), content.get("maintainers"), content.get("contributors")
    )
    return Manifest(
        name=text(content.get("name")),
        version=text(content.get("version")),
        description=text(content.get("description")),
        owner=author.name,
        email=author.email,
        license=_license(content),
        homepage=web_url(content.get("homepage")),
        repository=web_url(_named(content.get("repository"), "url")),
        deps=_dependencies(content, *_NEEDED),
        optional_deps=_dependencies(content, "optionalDependencies"),
        dev_deps=_dependencies(content, "devDependencies"),
        keywords=words(content.get("keywords")),
        commands=_commands(content),
        private=content.get("private") is True,
    )


def _named(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else value


def _license(content: Mapping[str, object]) -> str:
    older = content.get("licenses")
    value = content.get("license") or (older[0] if isinstance(older, list) and older else None)
    return license_name(_named(value, "type"))


def _dependencies(content: Mapping[str, object], *keys: str) -> tuple[str, ...]:
    split_requirements = [item for key in keys for item in table(content.get(key)).items()]
    first = {name: spec for name, spec in reversed(split_requirements)}
    return texts(
        [dependency(name, first[name]) for name in dict.fromkeys(n for n, _ in split_requirements)]
    )


def _commands(content: Mapping[str, object]) -> tuple[str, ...]:
    programs = content.get("bin")
    if isinstance(programs, str):  # one program, called as the package is, without its scope
        return texts(text(content.get("name")).rpartition("/")[2])
    return texts(list(table(programs)))
