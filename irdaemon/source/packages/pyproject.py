"""Read pyproject.toml: `[project]`, and Poetry's table for what that leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irdaemon.source.packages.links import links
from irdaemon.source.packages.manifest import (
    Manifest,
    dependency,
    first_person,
    license_name,
    merged,
    prose,
    table,
    text,
    texts,
    words,
)
from irdaemon.source.packages.parse import read_toml

# What `[project]` states to be empty, it does not leave to setup.cfg, setup.py or Poetry's table.
_EMPTY_COUNTS = {
    "dependencies": "deps",
    "optional-dependencies": "optional_deps",
    "keywords": "keywords",
}


def read(path: str) -> Manifest | None:
    """Read a pyproject.toml; None when it only configures tools and so defines no package."""
    content = read_toml(path)
    poetry = table(table(content.get("tool")).get("poetry"))
    if not (poetry or "project" in content or "build-system" in content):
        return None
    groups = table(content.get("dependency-groups"))
    return merged((_project(table(content.get("project")), groups), _poetry(poetry)))


def _project(project: Mapping[str, object], groups: Mapping[str, object]) -> Manifest:
    author = first_person(project.get("authors"), project.get("maintainers"))
    urls = links(table(project.get("urls")))
    licence = project.get("license")
    classifiers = texts(project.get("classifiers"))
    return Manifest(
        name=text(project.get("name")),
        version=text(project.get("version")),
        description=text(project.get("description")),
        readme=prose(table(project.get("readme")).get("text")),
        owner=author.name,
        email=author.email,
        license=license_name(table(licence).get("text") or licence),
        homepage=urls.homepage,
        repository=urls.repository,
        deps=texts(project.get("dependencies")),
        optional_deps=_grouped(table(project.get("optional-dependencies"))),
        dev_deps=_grouped(groups),
        keywords=words(project.get("keywords")),
        commands=texts([*table(project.get("scripts")), *table(project.get("gui-scripts"))]),
        private=any(c.startswith("Private ::") for c in classifiers),
        given=frozenset(field for key, field in _EMPTY_COUNTS.items() if _is_empty(project, key)),
    )


def _is_empty(project: Mapping[str, object], key: str) -> bool:
    return project.get(key) in ([], {})


def _grouped(groups: Mapping[str, object]) -> tuple[str, ...]:
    return texts([item for group in groups.values() for item in texts(group)])


def _poetry(poetry: Mapping[str, object]) -> Manifest:
    author = first_person(poetry.get("authors"), poetry.get("maintainers"))
    named = {label: poetry.get(label) for label in ("homepage", "repository")}
    urls = links({**table(poetry.get("urls")), **named})
    required = table(poetry.get("dependencies")).items()
    return Manifest(
        name=text(poetry.get("name")),
        version=text(poetry.get("version")),
        description=text(poetry.get("description")),
        owner=author.name,
        email=author.email,
        license=license_name(poetry.get("license")),
        homepage=urls.homepage,
        repository=urls.repository,
        deps=texts([_poetry_dep(n, s) for n, s in required if not _optional(s)]),
        optional_deps=texts([_poetry_dep(n, s) for n, s in required if _optional(s)]),
        dev_deps=texts([_poetry_dep(*item) for group in _dev(poetry) for item in group.items()]),
        keywords=words(poetry.get("keywords")),
        commands=texts(list(table(poetry.get("scripts")))),
    )


def _optional(spec: object) -> bool:
    return table(spec).get("optional") is True


def _poetry_dep(name: str, spec: object) -> str:
    if name.lower() == "python":  # the interpreter, not a package
        return ""
    first = spec[0] if isinstance(spec, list) and spec else spec
    return dependency(name, table(first).get("version") or first)


def _dev(poetry: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield table(poetry.get("dev-dependencies"))
    for group in table(poetry.get("group")).values():
        yield table(table(group).get("dependencies"))
