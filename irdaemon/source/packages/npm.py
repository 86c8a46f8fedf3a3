"""Read package.json."""

from __future__ import annotations

import os
from collections.abc import Mapping

from irdaemon.source.packages.manifest import (
    Manifest,
    as_table,
    choose_person,
    clean_text,
    clean_texts,
    clean_url,
    find_license,
    read_json,
    split_words,
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
    content = read_json(os.path.join(directory, "package.json"))
    return _make_manifest(content) if _defines_package(content) else None


def _defines_package(content: Mapping[str, object]) -> bool:
    if clean_text(content.get("name")):
        return True
    return not content.get("workspaces") and any(content.get(key) for key in _DEFINING)


def _make_manifest(content: Mapping[str, object]) -> Manifest:
    author = choose_person(
        content.get("author"), content.get("maintainers"), content.get("contributors")
    )
    return Manifest(
        name=clean_text(content.get("name")),
        version=clean_text(content.get("version")),
        description=clean_text(content.get("description")),
        owner=author.name,
        email=author.email,
        license=_find_license(content),
        homepage=clean_url(content.get("homepage")),
        repository=clean_url(_get_value(content.get("repository"), "url")),
        deps=_list_dependencies(content, *_NEEDED),
        optional_deps=_list_dependencies(content, "optionalDependencies"),
        dev_deps=_list_dependencies(content, "devDependencies"),
        keywords=split_words(content.get("keywords")),
        commands=_list_commands(content),
        private=content.get("private") is True,
    )


def _get_value(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else value


def _find_license(content: Mapping[str, object]) -> str:
    older = content.get("licenses")
    value = content.get("license") or (older[0] if isinstance(older, list) and older else None)
    return find_license(_get_value(value, "type"))


def _list_dependencies(content: Mapping[str, object], *keys: str) -> tuple[str, ...]:
    split_requirements = [item for key in keys for item in as_table(content.get(key)).items()]
    first = {name: spec for name, spec in reversed(split_requirements)}
    return clean_texts(
        [
            write_dependency(name, first[name])
            for name in dict.fromkeys(n for n, _ in split_requirements)
        ]
    )


def _list_commands(content: Mapping[str, object]) -> tuple[str, ...]:
    programs = content.get("bin")
    if isinstance(programs, str):  # one program, called as the package is, without its scope
        return clean_texts(clean_text(content.get("name")).rpartition("/")[2])
    return clean_texts(list(as_table(programs)))
