"""The packages source: project packages and installed distributions, by their manifests.

Python, npm, Cargo and Go manifests are parsed; nothing in a package is executed or imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from glob import escape, glob

from irclient.errors import QueryError
from irdaemon.source.opening import follow_link, is_within, read_regular, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.packages import cargo, gomod, npm, python
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    README_CHARS,
    Manifest,
    PackageText,
    Readme,
    find_organisation,
    find_prose,
    hash_bytes,
    parse_ini,
    read_readme,
    read_text,
)
from irdaemon.source.packages.walk import (
    WalkLimits,
    expect_packages,
    find_family,
    is_distribution,
    scan_packages,
)
from irdaemon.source.tree import Expected
from irdaemon.types import Artifact, Entry, Reading, Root, Scan, SourceError

# Where packages usually live on a machine.

_SITE = "lib/python3*/site-packages"
_MODULES = "lib/node_modules"
_OWN = ("irdaemon", "irclient")
_PROJECTS = ("src", "code", "projects", "dev", "work", "repos", "git", "workspace")


def list_known_places(home: str, env: Mapping[str, str]) -> tuple[Root, ...]:
    """Return the directories of packages, existing or not; those found by a pattern exist.

    Scope `project`: trees of projects in the home directory. `user`: packages that the user
    installed (user site, pipx and uv tools, global npm packages). `other`: the active environments.
    The environment that runs this program is not among them, nor is one of pipx or uv that holds
    it: the person does not use what this program needs.
    """
    own = resolve_path(sys.prefix) if sys.prefix != sys.base_prefix else ""
    names = (each for name in _PROJECTS for each in (name, name.capitalize()))
    active = (env[variable] for variable in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(variable))
    known = (
        *(Root(os.path.join(home, name), "project") for name in names),
        *(Root(path, "user") for path in _list_user_installed(home, env)),
        *(Root(path, "other") for prefix in active for path in _match_paths(prefix, _SITE)),
    )
    return tuple(root for root in known if not (own and is_within(resolve_path(root.path), own)))


def _list_user_installed(home: str, env: Mapping[str, str]) -> Iterator[str]:
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local/share")
    pipx = env.get("PIPX_HOME") or os.path.join(data, "pipx")
    tools = env.get("UV_TOOL_DIR") or os.path.join(data, "uv/tools")
    yield from _match_paths(os.path.join(home, ".local"), _SITE)
    for directory in (os.path.join(pipx, "venvs"), os.path.join(home, ".local/pipx/venvs"), tools):
        for site in _match_paths(directory, os.path.join("*", _SITE)):
            if not any(os.path.isdir(os.path.join(site, name)) for name in _OWN):
                yield site
    yield os.path.join(home, ".npm-global", _MODULES)
    if prefix := env.get("NPM_CONFIG_PREFIX"):
        yield os.path.join(prefix, _MODULES)


def _match_paths(directory: str, pattern: str) -> list[str]:
    return sorted(glob(os.path.join(escape(directory), pattern)))


__all__ = ["Packages", "list_known_places"]


class Packages(RootSource):
    """Find and read packages below the roots.

    Options: `exclude`, a list of fnmatch patterns of directory names to leave out; `max_depth`,
    how deep below a root to look (8). Hidden, dependency, vendored and build-output directories
    are never entered. A root that is a site-packages or node_modules directory yields what is
    installed in it.

    An owner found outside the package (CODEOWNERS, git remote) is only looked up when the package
    itself changes. Two entries share a `path` when a directory holds manifests of two families.
    """

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        given = read_options("packages", options, {"exclude": [], "max_depth": 8})
        self._limits = WalkLimits(**given)
        if self._limits.max_depth < 0:
            raise QueryError(
                "packages: option 'max_depth' is below 0", "0 looks at the roots alone"
            )

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate packages by the stats of their manifests and READMEs."""
        # The innermost root decides on the scope.
        real = (replace(root, path=resolve_path(root.path)) for root in self._roots)
        roots = tuple(sorted(real, key=lambda root: -root.path.count("/")))
        return scan_packages(roots, self._limits, under)

    def expect_files(self) -> Expected:
        """Return which files should be entries; see irdaemon.source.tree.Expected."""
        return expect_packages(self._limits)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one package: its manifest and README."""
        return read_entry(entry)


# Turn one entry into an artifact: its manifest, its README and its owner.

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


def read_entry(entry: Entry) -> Reading:
    """Read the package of an entry; a manifest that defines no package gives no artifact."""
    package = _read_distribution(entry) if is_distribution(entry.path) else _read_directory(entry)
    if package is None:
        return Reading((), skipped={"no_package": 1})
    return Reading((_make_artifact(entry, package),))


def _read_distribution(entry: Entry) -> PackageText:
    pointer = python.find_metadata(entry.path)
    data = read_regular(follow_link(pointer, by_name=True), MANIFEST_LIMIT)
    manifest = python.load_distribution(entry.path, data.decode("utf-8-sig", "replace"))
    return PackageText(manifest, pointer, Readme(manifest.readme, hash_bytes(data)))


def _read_directory(entry: Entry) -> PackageText | None:
    manifest = _LOADERS[find_family(entry).ecosystem](entry.path)
    return PackageText(manifest, entry.path, read_readme(entry.path)) if manifest else None


def _make_artifact(entry: Entry, package: PackageText) -> Artifact:
    manifest, is_installed = package.manifest, is_distribution(entry.path)
    own = python.read_name(entry.path) if is_installed else os.path.basename(entry.path)
    name = manifest.name or own
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
            "ecosystem": find_family(entry).ecosystem,
            "installed": is_installed or "/node_modules/" in entry.path,
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
