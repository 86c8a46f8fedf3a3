"""The dependencies source: a project's direct dependencies, in the versions it has.

Manifests, locks and installed packages are parsed; nothing in them is executed or imported, and no
directory of installed packages is listed. An entry's stamp holds what was found of its dependency,
so that a read opens nothing but that one's own text.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from irclient.errors import QueryError
from irdaemon.source.dependencies.cargo import find_cargo, read_cargo
from irdaemon.source.dependencies.go import find_go, read_go
from irdaemon.source.dependencies.npm import find_npm, read_npm
from irdaemon.source.dependencies.python import find_python
from irdaemon.source.dependencies.site_packages import read_python
from irdaemon.source.dependencies.words import read_words
from irdaemon.source.dependencies.workspace import (
    Dependency,
    Found,
    Options,
    ProjectFiles,
)
from irdaemon.source.opening import is_within, read_status, resolve_path
from irdaemon.source.options import RootSource, read_options
from irdaemon.source.packages.manifest import Manifest, PackageText, Readme, find_prose
from irdaemon.source.tree import check_root, make_stamp, shorten_path
from irdaemon.types import Artifact, Entry, Reading, Root, Scan, SourceError

__all__ = ["ECOSYSTEMS", "Dependencies", "Dependency", "Found", "Options", "find_dependencies"]


@dataclass(frozen=True, slots=True)
class _Ecosystem:
    """The functions that find dependencies and read the text of one from its directory.

    The status of the files `stamped` there shows that it has changed.
    """

    find: Callable[[ProjectFiles], Iterator[Dependency]]
    read: Callable[[str], PackageText]
    stamped: tuple[str, ...]


_PYTHON_STAMPED = ("METADATA", "RECORD", "PKG-INFO", "pyproject.toml", "setup.cfg", "setup.py")
ECOSYSTEMS: Mapping[str, _Ecosystem] = {
    "npm": _Ecosystem(find_npm, read_npm, ("package.json", "README.md")),
    "pypi": _Ecosystem(find_python, read_python, (*_PYTHON_STAMPED, "README.md")),
    "cargo": _Ecosystem(find_cargo, read_cargo, ("Cargo.toml", "README.md")),
    "go": _Ecosystem(find_go, read_go, ("go.mod", "README.md")),
}
# Files and directories that tell which dependencies there are, or in which version.
_RELEVANT = re.compile(
    r"package(?:-lock)?\.json|\.package-lock\.json|npm-shrinkwrap\.json|pnpm-(?:lock|workspace)\.yaml"
    r"|yarn\.lock|bun\.lock|\.pnp\.c?js|node_modules"
    r"|pyproject\.toml|setup\.(?:py|cfg)|.*requirements.*\.(?:txt|in)|(?:uv|poetry|pdm)\.lock"
    r"|pylock\.toml|Pipfile(?:\.lock)?|requirements"
    r"|pyvenv\.cfg|\.venv|venv|.*\.dist-info|METADATA"
    r"|Cargo\.(?:toml|lock)|go\.(?:mod|work)|README\.md"
)

_BRIEF = "brief "
README_CHARS = 4_000
_DESCRIPTION_CHARS = 2_000
_MOST_KEYWORDS = 20


class Dependencies(RootSource):
    """Find and read the direct dependencies of the projects at the roots.

    Options: `environment`, the Python environment of a project without one of its own; `max`, the
    most dependencies of an ecosystem (20,000).
    """

    def __init__(self, roots: tuple[Root, ...], options: Mapping[str, object]):
        super().__init__(roots)
        self._options = Options(**read_options("dependencies", options, asdict(Options())))
        self._is_brief = False
        self._notes: list[str] = []  # also its brief copies'
        if self._options.max < 1:
            raise QueryError("dependencies: option 'max' is below 1", "leave it out for 20,000")

    def brief(self) -> Dependencies:
        """Return this source without the packages' own words, which take longest to read.

        Its entries have stamps of their own, so that the next scan reads them whole.
        """
        brief = copy(self)
        brief._is_brief = True
        return brief

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of the last scan."""
        return tuple(self._notes)

    def find(self) -> tuple[Found, ...]:
        """Return the findings of each root and ecosystem."""
        return tuple(found for _, found in self._find_all())

    def scan(self, under: str | None = None) -> Scan:
        """Enumerate the dependencies: all of them after a change of a manifest, lock or package."""
        if under is not None and not self._may_matter(under):
            return Scan((), ())
        problems = [lost for top in self._list_tops() if (lost := check_root(Root(top)))]
        entries: dict[str, Entry] = {}
        left_out = Counter[str]()
        notes: dict[str, None] = {}
        for top, found in self._find_all():
            made = [_make_entry(top, each) for each in found.dependencies]
            if self._is_brief:
                made = [replace(each, stamp=f"{_BRIEF}{each.stamp}") for each in made]
            entries = {entry.key: entry for entry in made} | entries
            problems += found.problems
            left_out.update(found.left_out)
            notes.update(dict.fromkeys(found.notes))
        self._notes[:] = notes
        ordered = sorted(entries.values(), key=lambda entry: entry.key)
        return Scan(tuple(ordered), ("",), tuple(problems), left_out)

    def read(self, entry: Entry, cursor: bytes | None = None) -> Reading:
        """Read one dependency: manifest, README, exported names and own words of an installed one.

        An entry of a brief scan is read without own words.
        """
        whole = not entry.stamp.startswith(_BRIEF)
        found: dict[str, Any] = json.loads(entry.stamp.partition("|")[2])
        dependency = Dependency(**{**found, "also": tuple(found["also"])})
        return Reading((_make_artifact(entry, dependency, whole=whole),))

    def _find_all(self) -> Iterator[tuple[str, Found]]:
        """Yield the real path of each root with its findings, by ecosystem."""
        for top in self._list_tops():
            for ecosystem in ECOSYSTEMS:
                yield top, find_dependencies(top, ecosystem, self._options)

    def _list_tops(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(resolve_path(root.path) for root in self._roots))

    def _may_matter(self, path: str) -> bool:
        """Return whether a changed path may be a manifest, a lock, or something installed."""
        tops = self._list_tops()
        if any(is_within(top, path) for top in tops):
            return True
        if not any(is_within(path, top) for top in tops):
            return False
        name = os.path.basename(path)
        return bool(_RELEVANT.fullmatch(name)) or not ("." in name or os.path.isfile(path))


def find_dependencies(root: str, ecosystem: str, options: Options) -> Found:
    """Find the direct dependencies of the project at a real path, those of one ecosystem."""
    files = ProjectFiles(root, options)
    return files.report(ECOSYSTEMS[ecosystem].find(files))


def _make_entry(top: str, dependency: Dependency) -> Entry:
    """Make the entry of a dependency, at the path of the manifest that asks for it."""
    path = os.path.join(top, dependency.manifest)
    key = f"{shorten_path(top)}#{dependency.ecosystem}/{dependency.name}"
    statuses = tuple(_list_statuses(dependency))
    newest = max((status.st_mtime_ns for status in statuses), default=0)
    found = json.dumps(asdict(dependency))
    return Entry(key, path, f"{make_stamp(*statuses)}|{found}", newest, "project")


def _list_statuses(dependency: Dependency) -> Iterator[os.stat_result]:
    names = ECOSYSTEMS[dependency.ecosystem].stamped if dependency.directory else ()
    for name in names:
        try:
            yield read_status(os.path.join(dependency.directory, name))
        except (FileNotFoundError, SourceError):
            continue


def _make_artifact(entry: Entry, dependency: Dependency, *, whole: bool) -> Artifact:
    ecosystem, directory = dependency.ecosystem, dependency.directory
    nothing = PackageText(Manifest(), "", Readme())
    text = ECOSYSTEMS[ecosystem].read(directory) if directory else nothing
    manifest = text.manifest
    readme = text.readme.text or manifest.readme
    description = manifest.description or find_prose(readme)
    keywords = list(manifest.keywords[:_MOST_KEYWORDS])
    has_words = whole and directory and not dependency.own  # the project itself has its own
    return Artifact(
        artifact_id=entry.key,
        raw={
            "name": dependency.name,
            "description": description[:_DESCRIPTION_CHARS],
            "keywords": keywords,
            "readme": readme[:README_CHARS],
            "exports": " ".join(text.exports),  # one text, to be searched for secrets once
            "aliases": " ".join(list_aliases((dependency.name, description, *keywords))),
            "words": read_words(ecosystem, directory) if has_words else "",
            "deps": list(manifest.deps),
        },
        name=dependency.name,
        pointer=text.pointer,
        metadata=_list_fields(dependency, manifest),
        body=None if text.pointer else _describe(dependency),
        digest=text.readme.digest,
        flags=text.readme.flags,
    )


def _list_fields(dependency: Dependency, manifest: Manifest) -> dict[str, object]:
    installed = dependency.origin == "installed"
    given: dict[str, object] = {
        "ecosystem": dependency.ecosystem,
        "version": dependency.version,
        "wanted": dependency.wanted,
        "origin": dependency.origin,
        "manifest": dependency.manifest,
        "also": list(dependency.also),
        "note": dependency.note,
        "license": manifest.license,
        "repository": manifest.repository,
    }
    stated = {name: value for name, value in given.items() if value}
    return stated | {"dev": dependency.dev, "own": dependency.own, "installed": installed}


def _describe(dependency: Dependency) -> str:
    """Describe a dependency that has no text here."""
    named = f"{dependency.name} {dependency.version}".strip()
    asked = f"{dependency.manifest} asks for {dependency.wanted or 'any version'}"
    return f"{named} ({dependency.ecosystem}): {asked}; it is not installed here."


# What people type for the things that a package is about: `yml` where it says YAML.

_TABLE = "aliases.txt"
_WORD = re.compile(r"[a-z0-9]+")
_MOST_CHARS = 3_000


def list_aliases(texts: Iterable[str]) -> list[str]:
    """Return what people type for the things that texts name, without the texts' own words."""
    words = _WORD.findall(" ".join(texts)[:_MOST_CHARS].lower())
    spoken, held = f" {' '.join(words)} ", set(words)
    found = (aliases for thing, aliases in load_aliases().items() if f" {thing} " in spoken)
    return [each for each in dict.fromkeys(a for some in found for a in some) if each not in held]


@cache
def load_aliases() -> Mapping[str, tuple[str, ...]]:
    """Return what people type for a thing, by the thing's name."""
    lines = Path(__file__).with_name(_TABLE).read_text("utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if not line.startswith("#"))
    return {thing: tuple(aliases.split()) for thing, aliases in pairs}
