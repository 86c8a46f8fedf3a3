"""Turn one entry into an artifact: its manifest, its README and its owner."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from irdaemon.source.opening import follow_link, read_regular, resolve_path
from irdaemon.source.packages import cargo, dist_info, gomod, npm, python
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    Manifest,
    find_organisation,
    parse_ini,
    read_text,
)
from irdaemon.source.packages.readme import (
    README_CHARS,
    Readme,
    find_prose,
    hash_bytes,
    read_readme,
)
from irdaemon.source.packages.walk import PYTHON, find_family, is_distribution
from irdaemon.types import Artifact, Entry, Reading, SourceError

# Find the owner of a package whose manifest names none.
#
# In this order: the repository's CODEOWNERS, its git remote's organisation, that of the repository
# URL in the manifest, the domain of the author's e-mail address. Git is never run: its files are
# read as text.

_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
# These domains name the mail provider, not the owner of the package.
_MAIL_CARRIERS = frozenset(
    {
        "gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "yahoo.com",
        "icloud.com", "me.com", "proton.me", "protonmail.com", "qq.com", "163.com", "gmx.de",
        "users.noreply.github.com",
    }
)  # fmt: skip


def find_owner(directory: str, manifest: Manifest) -> str:
    """Return the owner of the package in `directory`, "" for none."""
    if manifest.owner:
        return manifest.owner
    repository = _find_repository(directory)
    domain = manifest.email.rpartition("@")[2].lower()
    return (
        (repository and _find_code_owner(repository, directory))
        or (repository and find_organisation(_find_remote(repository)))
        or find_organisation(manifest.repository)
        or ("" if domain in _MAIL_CARRIERS else domain)
    )


def _find_repository(directory: str) -> str:
    while not os.path.exists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return ""
        directory = above
    return directory


def _try_text(path: str) -> str:
    try:
        return read_text(path)
    except (OSError, SourceError):
        return ""


def _find_code_owner(repository: str, directory: str) -> str:
    held = (_try_text(os.path.join(repository, name)) for name in _CODEOWNERS)
    rules = [line.partition("#")[0].split() for line in next(filter(None, held), "").splitlines()]
    # Patterns match files; this one stands for all files of the package.
    inside = os.path.normpath(os.path.join(os.path.relpath(directory, repository), "package"))
    for pattern, *owners in reversed([rule for rule in rules if rule]):
        if _matches(pattern, inside):
            return owners[0] if owners else ""
    return ""


def _matches(pattern: str, path: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines([pattern]).match_file(path)
    except ValueError:
        return False


def _find_remote(repository: str) -> str:
    """Return the URL of `origin`, else of the first remote; "" without any."""
    path = os.path.join(_find_git_directory(repository), "config")
    # Git indents its keys, which the ini parser would take for continued lines.
    source = "\n".join(line.strip() for line in _try_text(path).splitlines())
    try:
        config = parse_ini(source, path)
    except SourceError:
        return ""
    remotes = [s for s in config.sections() if s.startswith("remote ")]
    chosen = 'remote "origin"' if 'remote "origin"' in remotes else next(iter(remotes), "")
    return config.get(chosen, "url", fallback=None) or ""


def _find_git_directory(repository: str) -> str:
    """Return the directory that holds the config; a worktree's `.git` is a file naming it."""
    git = os.path.join(repository, ".git")
    if os.path.isdir(git):
        return git
    named = _try_text(git).removeprefix("gitdir:").strip()
    linked = resolve_path(os.path.join(repository, named))
    return resolve_path(os.path.join(linked, _try_text(os.path.join(linked, "commondir")).strip()))


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
    """Read the package of an entry; a manifest that defines no package gives no artifact."""
    package = _read_distribution(entry) if is_distribution(entry.path) else _read_directory(entry)
    if package is None:
        return Reading((), skipped={"no_package": 1})
    return Reading((_make_artifact(entry, package),))


def _read_distribution(entry: Entry) -> _Package:
    pointer = dist_info.find_metadata(entry.path)
    data = read_regular(follow_link(pointer, by_name=True), MANIFEST_LIMIT)
    manifest = dist_info.load(entry.path, data.decode("utf-8-sig", "replace"))
    readme = Readme(manifest.readme, hash_bytes(data))
    name = dist_info.read_name(entry.path)
    return _Package(manifest, PYTHON.ecosystem, name, pointer, readme, installed=True)


def _read_directory(entry: Entry) -> _Package | None:
    ecosystem = find_family(entry).ecosystem
    manifest = _LOADERS[ecosystem](entry.path)
    if manifest is None:
        return None
    readme = read_readme(entry.path)
    name = os.path.basename(entry.path)
    installed = "/node_modules/" in entry.path
    return _Package(manifest, ecosystem, name, entry.path, readme, installed)


def _make_artifact(entry: Entry, package: _Package) -> Artifact:
    manifest = package.manifest
    name = manifest.name or package.fallback_name
    readme = (package.readme.text or manifest.readme)[:README_CHARS]
    unnamed = () if manifest.name else ("unnamed",)
    return Artifact(
        artifact_id=entry.key,
        raw={
            "name": name,
            "description": (manifest.description or find_prose(readme))[:_DESCRIPTION_CHARS],
            "readme": readme,
            "owner": find_owner(entry.path, manifest),
            "deps": list(manifest.deps),
        },
        name=name,
        pointer=package.pointer,
        metadata={
            "ecosystem": package.ecosystem,
            "installed": package.installed,
            "private": manifest.private,
            "path": entry.path,
            "scope": entry.scope,
            **_list_stated(manifest),
        },
        digest=package.readme.digest,
        flags=(*manifest.flags, *package.readme.flags, *unnamed),
    )


_STATED = (
    "version", "license", "homepage", "repository", "origin", "keywords", "commands",
    "indirect_deps", "optional_deps", "dev_deps", "editable",
)  # fmt: skip


def _list_stated(manifest: Manifest) -> dict[str, object]:
    """Return the further fields that a manifest fills."""
    stated = {name: value for name in _STATED if (value := getattr(manifest, name))}
    return {n: list(v) if isinstance(v, tuple) else v for n, v in stated.items()}
