"""Turn one entry into an artifact: its manifest, its README, and who owns it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.source.opening import followed, read_regular
from irdaemon.source.packages import cargo, dist_info, gomod, npm, python
from irdaemon.source.packages.layout import PYTHON, family_of, is_distribution
from irdaemon.source.packages.manifest import Manifest
from irdaemon.source.packages.owner import owner_of
from irdaemon.source.packages.parse import MANIFEST_LIMIT
from irdaemon.source.packages.readme import (
    README_CHARS,
    Readme,
    first_paragraph,
    read_readme,
    sha256,
)
from irdaemon.types import Artifact, Entry, Reading

_DESCRIPTION_CHARS = 2_000
_LOADERS: dict[str, Callable[[str], Manifest | None]] = {
    "pypi": python.load,
    "npm": npm.load,
    "cargo": cargo.load,
    "go": gomod.load,
}


@dataclass(frozen=True, slots=True)
class _Package:
    """A manifest with what surrounds it on disk."""

    manifest: Manifest
    ecosystem: str
    fallback_name: str
    pointer: str
    readme: Readme
    installed: bool


def read_entry(entry: Entry) -> Reading:
    """Read the package of an entry; one whose manifest defines none gives no artifact."""
    package = _distribution(entry) if is_distribution(entry.path) else _directory(entry)
    if package is None:
        return Reading((), skipped={"no_package": 1})
    return Reading((_artifact(entry, package),))


def _distribution(entry: Entry) -> _Package:
    pointer = dist_info.metadata_file(entry.path)
    data = read_regular(followed(pointer, by_name=True), MANIFEST_LIMIT)
    manifest = dist_info.load(entry.path, data.decode("utf-8-sig", "replace"))
    readme = Readme(manifest.readme, sha256(data))
    name = dist_info.name_in(entry.path)
    return _Package(manifest, PYTHON.ecosystem, name, pointer, readme, installed=True)


def _directory(entry: Entry) -> _Package | None:
    ecosystem = family_of(entry).ecosystem
    manifest = _LOADERS[ecosystem](entry.path)
    if manifest is None:
        return None
    readme = read_readme(entry.path)
    name = os.path.basename(entry.path)
    installed = "/node_modules/" in entry.path
    return _Package(manifest, ecosystem, name, entry.path, readme, installed)


def _artifact(entry: Entry, package: _Package) -> Artifact:
    manifest = package.manifest
    unnamed = () if manifest.name else ("unnamed",)
    return Artifact(
        artifact_id=entry.key,
        raw=_raw(entry, package),
        name=manifest.name or package.fallback_name,
        pointer=package.pointer,
        metadata=_metadata(entry, package),
        digest=package.readme.digest,
        flags=(*manifest.flags, *package.readme.flags, *unnamed),
    )


def _raw(entry: Entry, package: _Package) -> dict[str, object]:
    manifest = package.manifest
    readme = (package.readme.text or manifest.readme)[:README_CHARS]
    return {
        "name": manifest.name or package.fallback_name,
        "description": (manifest.description or first_paragraph(readme))[:_DESCRIPTION_CHARS],
        "readme": readme,
        "owner": owner_of(entry.path, manifest),
        "deps": list(manifest.deps),
    }


def _metadata(entry: Entry, package: _Package) -> dict[str, object]:
    manifest = package.manifest
    stated: dict[str, object] = {
        "version": manifest.version,
        "license": manifest.license,
        "homepage": manifest.homepage,
        "repository": manifest.repository,
        "origin": manifest.origin,
        "keywords": list(manifest.keywords),
        "commands": list(manifest.commands),
        "indirect_deps": list(manifest.indirect_deps),
        "optional_deps": list(manifest.optional_deps),
        "dev_deps": list(manifest.dev_deps),
        "editable": manifest.editable,
    }
    always: dict[str, object] = {
        "ecosystem": package.ecosystem,
        "installed": package.installed,
        "private": manifest.private,
        "path": entry.path,
        "scope": entry.scope,
    }
    return always | {key: value for key, value in stated.items() if value}
