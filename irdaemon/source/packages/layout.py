"""Recognise packages by the names of their files, opening none.

A package's key is its directory's home-relative real path. Python packages are keyed by that
alone; those of other families always carry their family's suffix (`~/src/web#npm`), so that a
second manifest appearing in a directory changes no existing key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from irdaemon.source.packages import cargo, dist_files
from irdaemon.source.packages.readme import chosen, is_readme
from irdaemon.source.tree import home_relative, is_directory, is_regular, real_path, stamp_of
from irdaemon.types import Entry


def _nowhere(directory: str) -> tuple[str, ...]:
    return ()


def _workspace_manifest(directory: str) -> tuple[str, ...]:
    nearest = islice(cargo.parents(directory), 1)
    return tuple(os.path.join(above, "Cargo.toml") for above in nearest)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of manifest: its files, files read beside them, and files read from elsewhere."""

    ecosystem: str
    suffix: str
    manifests: tuple[str, ...]
    beside: tuple[str, ...] = ()
    elsewhere: Callable[[str], tuple[str, ...]] = _nowhere


PYTHON = Family("pypi", "", ("pyproject.toml", "setup.cfg", "setup.py"))
NPM = Family("npm", "#npm", ("package.json",))
CARGO = Family("cargo", "#cargo", ("Cargo.toml",), elsewhere=_workspace_manifest)
GO = Family("go", "#go", ("go.mod",), ("doc.go",))
FAMILIES = (PYTHON, NPM, CARGO, GO)

MANIFESTS = frozenset(name for family in FAMILIES for name in family.manifests)
_BESIDE = frozenset(name for family in FAMILIES for name in family.beside)


def is_read(name: str) -> bool:
    """Return whether a file of this name is read when its directory is a package."""
    return name in MANIFESTS or name in _BESIDE or is_readme(name)


def is_distribution(path: str) -> bool:
    """Return whether a path is an installed distribution's, not a package directory."""
    return path.endswith(dist_files.SUFFIXES)


def family_of(entry: Entry) -> Family:
    """Return the family of a package entry, by its key's suffix."""
    suffix = entry.key[len(home_relative(entry.path)) :]
    return next(family for family in FAMILIES if family.suffix == suffix)


def packages_in(
    directory: str,
    listing: list[os.DirEntry[str]],
    scope: str,
    families: tuple[Family, ...] = FAMILIES,
) -> Iterator[Entry]:
    """Yield an entry for each family with a manifest in a directory's listing."""
    files = {e.name: e.path for e in listing if is_read(e.name) and is_regular(e)}
    for family in families:
        held = [files[name] for name in family.manifests if name in files]
        if held:
            held += [files[name] for name in (*family.beside, chosen(files)) if name in files]
            held += family.elsewhere(directory)
            yield _entry(home_relative(directory) + family.suffix, directory, held, scope)


def distributions_in(listing: list[os.DirEntry[str]], scope: str) -> Iterator[Entry]:
    """Yield an entry for each installed distribution in a site-packages listing."""
    for entry in listing:
        # pip renames what it is about to remove to `~...`.
        if is_distribution(entry.name) and not entry.name.startswith("~"):
            path = real_path(entry)
            names = (*dist_files.METADATA, *dist_files.BESIDE)
            held = [os.path.join(path, name) for name in names] if is_directory(entry) else [path]
            yield _entry(home_relative(path), path, held, scope)


def _entry(key: str, path: str, files: list[str], scope: str) -> Entry:
    statuses = tuple(_statuses(files)) or tuple(_statuses([path]))
    newest = max((status.st_mtime_ns for status in statuses), default=0)
    return Entry(key, path, stamp_of(*statuses), newest, scope)


def _statuses(files: list[str]) -> Iterator[os.stat_result]:
    for path in files:
        try:
            yield os.stat(path)
        except OSError:  # gone since the listing, or never there: the stamp is shorter then
            continue
