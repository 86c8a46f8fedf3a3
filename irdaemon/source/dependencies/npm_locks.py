"""Read the locks of npm, pnpm, Yarn and Bun: which version of a package a member of it has.

All but npm's and Bun's, which are JSON, are read line by line as their programs write them: a lock
that is cut or edited gives what is left of it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from irdaemon.source.dependencies.found import CUT, LOCK_LIMIT, VERSION, ProjectFiles, split_lines
from irdaemon.source.packages.manifest import as_table

# A comma before what closes a list, outside of strings.
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
_PNPM_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a member asks for: `member` is its path below the lock's directory, "" for that."""

    member: str
    name: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Lock:
    """The versions in a lock by its own keys, and how those of a request are spelled."""

    versions: Mapping[str, str]
    spell: Callable[[Wanted], Iterable[str]]

    def find_version(self, wanted: Wanted) -> str:
        """Return the locked version; "" where there is none."""
        found = (self.versions.get(key, "") for key in self.spell(wanted))
        return next(filter(VERSION.match, found), "")


def read_locks(files: ProjectFiles, top: str) -> tuple[Lock, ...]:
    """Return the locks in a directory; one that cannot be understood is a problem."""
    locks: list[Lock] = []
    for name, parse in _PARSERS.items():
        path = os.path.join(top, name)
        source = files.read_text(path, LOCK_LIMIT)
        if source is None:
            continue
        if name in _WRITTEN_IN_LINES and source and not source.endswith("\n"):
            files.complain(path, CUT)
        try:
            locks.append(parse(source))
        except (ValueError, RecursionError) as error:
            files.complain(path, f"not a valid lock: {error}; its versions are unknown")
    return tuple(locks)


def parse_npm_lock(source: str) -> Lock:
    """Parse package-lock.json of any version. Raises ValueError or RecursionError."""
    content = as_table(json.loads(source))
    packages = as_table(content.get("packages"))
    versions = {path: _get_version(held) for path, held in packages.items()}
    for name, held in as_table(content.get("dependencies")).items():
        versions.setdefault(f"node_modules/{name}", _get_version(held))
    return Lock(versions, _spell_for_npm)


def _get_version(held: object) -> str:
    version = as_table(held).get("version")
    return version if isinstance(version, str) else ""


def _spell_for_npm(wanted: Wanted) -> Iterator[str]:
    """Yield where a package can be installed for a member, the nearest place first."""
    directory = wanted.member
    while directory:
        yield f"{directory}/node_modules/{wanted.name}"
        directory = directory.rpartition("/")[0]
    yield f"node_modules/{wanted.name}"


def parse_pnpm_lock(source: str) -> Lock:
    """Parse pnpm-lock.yaml of any version: what its importers have."""
    versions: dict[str, str] = {}
    for path, value in _list_yaml_values(source):
        if path[0] in ("packages", "snapshots"):
            break
        is_nested = path[0] == "importers" and len(path) > 1
        importer, rest = (path[1], path[2:]) if is_nested else (".", path)
        if len(rest) in (2, 3) and rest[0] in _PNPM_SECTIONS and rest[2:] in ((), ("version",)):
            versions[f"{importer}:{rest[1]}"] = _read_pnpm_version(value)
    return Lock(versions, lambda wanted: (f"{wanted.member or '.'}:{wanted.name}",))


def _read_pnpm_version(value: str) -> str:
    """Return the version in `18.2.0(react@18.2.0)`, `/name@1.0.0` or `/name/1.0.0_react@18.2.0`."""
    plain = value.partition("(")[0]
    if plain.startswith("/"):
        plain = plain[1:].partition("_")[0].rpartition("/")[2]
    return plain.partition("_")[0].rpartition("@")[2]


def _list_yaml_values(source: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path of keys and the value of each line `key: value` of a block mapping."""
    above: list[tuple[int, str]] = []
    for line in split_lines(source):
        stripped = line.strip()
        key, colon, value = (f"{stripped} ").partition(": ")
        if not colon or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, key.strip("'\"")))
        if len(above) > 8:  # no lock nests so deep
            above.clear()
        elif value.strip():
            yield tuple(each for _, each in above), value.strip(" '\"")


def parse_yarn_lock(source: str) -> Lock:
    """Parse yarn.lock of Yarn 1 or later: versions by what was asked for."""
    versions: dict[str, str] = {}
    asked: list[str] = []
    for line in split_lines(source):
        if line[0] not in " #\r":
            asked = [each.strip() for each in line.strip(" :\r").replace('"', "").split(",")]
        elif line.startswith("  version"):
            versions.update(dict.fromkeys(asked, line[len("  version") :].strip(' :"\r')))
    return Lock(versions, _spell_for_yarn)


def _spell_for_yarn(wanted: Wanted) -> tuple[str, ...]:
    return (f"{wanted.name}@npm:{wanted.wanted}", f"{wanted.name}@{wanted.wanted}")


def parse_bun_lock(source: str) -> Lock:
    """Parse bun.lock, JSON with commas before brackets. Raises ValueError or RecursionError."""
    content = as_table(json.loads(_TRAILING.sub(r"\1", source)))
    members = as_table(content.get("workspaces"))
    names = {path: as_table(held).get("name") for path, held in members.items()}
    versions = {
        key: held[0].rpartition("@")[2]
        for key, held in as_table(content.get("packages")).items()
        if isinstance(held, list) and held and isinstance(held[0], str)
    }

    def spell(wanted: Wanted) -> Iterator[str]:
        if wanted.member:
            yield f"{names.get(wanted.member)}/{wanted.name}"
        yield wanted.name

    return Lock(versions, spell)


# In the order in which they are asked.
_PARSERS: Mapping[str, Callable[[str], Lock]] = {
    "pnpm-lock.yaml": parse_pnpm_lock,
    "yarn.lock": parse_yarn_lock,
    "bun.lock": parse_bun_lock,
    "npm-shrinkwrap.json": parse_npm_lock,
    "package-lock.json": parse_npm_lock,
}
_WRITTEN_IN_LINES = ("pnpm-lock.yaml", "yarn.lock")
