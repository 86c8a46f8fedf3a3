"""Find the dependencies of npm's packages: package.json, installed packages, and the locks."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from irdaemon.source.dependencies.workspace import (
    EXPORTS_BYTES,
    LOCK_LIMIT,
    MOST_EXPORTS,
    VERSION,
    Dependency,
    ProjectFiles,
    Request,
    Workspace,
    clean_version,
    describe_directory,
    read_beginning,
    split_lines,
)
from irdaemon.source.lenient_yaml import load_yaml
from irdaemon.source.opening import is_within, read_regular
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    PackageText,
    as_list,
    as_table,
    clean_text,
    parse_json,
)
from irdaemon.source.packages.npm import describe_package
from irdaemon.types import SourceError

_MANIFEST = "package.json"
_PNPM_WORKSPACE = "pnpm-workspace.yaml"
# Names that npm publishes, and those with capitals, which it once did.
_NAME = re.compile(r"(?:@[\w~*-][\w.~*-]*/)?[\w~*-][\w.~*-]*\Z", re.ASCII)
_NAME_CHARS = 214
_SECTIONS = ("dependencies", "optionalDependencies", "peerDependencies", "devDependencies")
_PATHS = ("file:", "link:", "portal:", "workspace:")
# Beside one of these, packages are in archives, which are not opened.
_PNP = (".pnp.cjs", ".pnp.js", ".pnp.data.json")
_BINARY_LOCK = "bun.lockb"


def is_npm_name(name: str) -> bool:
    """Return whether a package of npm may be called so."""
    return len(name) <= _NAME_CHARS and bool(_NAME.match(name)) and not name.startswith("_")


def find_npm(files: ProjectFiles) -> Iterator[Dependency]:
    """Yield the packages of npm of a project, and their direct dependencies."""
    for top in files.list_tops(_MANIFEST):
        workspace = _Workspace("npm", files, top)
        workspace.read_members()
        missing = 0
        for dependency in workspace.list_dependencies(workspace.find):
            missing += dependency.origin != "installed"
            yield dependency
        if missing:
            workspace.note_missing(missing)


@dataclass(slots=True)
class _Workspace(Workspace):
    """A package with its lock, and the packages that are members of it.

    `catalogs` are ranges by catalog and name, which members may ask for. `locks` are read once
    something is not installed.
    """

    catalogs: dict[str, Mapping[str, object]] = field(default_factory=dict)
    locks: tuple[Lock, ...] | None = None

    def read_members(self) -> None:
        """Read the package at the top and the members of its workspace."""
        content = self._read_manifest(self.top)
        patterns = self._read_patterns(content)
        self._add_member(self.top, content)
        for member in self.files.find_members(self.top, patterns, _MANIFEST):
            self._add_member(member, self._read_manifest(member))

    def _read_manifest(self, directory: str) -> Mapping[str, object]:
        return self.files.parse(os.path.join(directory, _MANIFEST), parse_json) or {}

    def _read_patterns(self, content: Mapping[str, object]) -> list[object]:
        """Return the patterns of members; keep the catalogs."""
        stated = content.get("workspaces")
        table = as_table(stated)
        source = self.files.read_text(os.path.join(self.top, _PNPM_WORKSPACE))
        pnpm = as_table(load_yaml(source)[0]) if source else {}
        for held in (table, pnpm):
            for name, catalog in as_table(held.get("catalogs")).items():
                self.catalogs[name] = as_table(catalog)
            if catalog := as_table(held.get("catalog")):
                self.catalogs["default"] = self.catalogs[""] = catalog
        named = as_list(stated) or as_list(table.get("packages"))
        return [*named, *as_list(pnpm.get("packages"))]

    def _add_member(self, directory: str, content: Mapping[str, object]) -> None:
        """Add the package that a package.json defines, and its requests."""
        path, name = os.path.join(directory, _MANIFEST), content.get("name")
        if isinstance(name, str) and is_npm_name(name):
            self.add_own(name, name, content.get("version"), path)
        for section in _SECTIONS:
            dev, peer = section == "devDependencies", section == "peerDependencies"
            for name, wanted in as_table(content.get(section)).items():
                if is_npm_name(name):
                    wanted, shown = self._read_range(name, wanted), self.files.shorten(path)
                    self.add_request(Request(name, wanted, directory, shown, dev, peer))
                else:
                    self.files.left_out["no name of a package of npm"] += 1

    def _read_range(self, name: str, wanted: object) -> str:
        """Return the wanted range, looked up in a catalog where it names one."""
        if isinstance(wanted, str) and wanted.startswith("catalog:"):
            catalog = self.catalogs.get(wanted.removeprefix("catalog:"), {})
            wanted = catalog.get(name, wanted)
        return clean_version(wanted)

    def find(self, name: str, requests: list[Request]) -> Dependency | None:
        """Return a dependency as it is installed or locked; None for a peer that is neither."""
        for chosen in requests:
            if directory := self._find_installed(chosen):
                version = _read_version(directory)
                return self.make_dependency(chosen, requests, version, directory)
        for chosen in requests:
            if not chosen.peer:  # somebody else has to bring a missing peer
                return self.make_dependency(chosen, requests, self._find_locked(chosen), "")
        return None

    def _find_locked(self, request: Request) -> str:
        """Return the locked version of a member's requirement; "" for none."""
        if self.locks is None:
            self.locks = read_locks(self.files, self.top)
        member = os.path.relpath(request.member, self.top)
        wanted = Wanted("" if member == "." else member, request.name, request.wanted)
        return next(filter(None, (lock.find_version(wanted) for lock in self.locks)), "")

    def _find_installed(self, request: Request) -> str:
        """Return the real path of an installed package, as Node finds it; "" for none."""
        scheme, colon, path = request.wanted.partition(":")
        is_path = scheme + colon in _PATHS and path
        if is_path and (local := self.files.find_package(request.member, path, _MANIFEST)):
            return local
        directory = request.member
        while is_within(directory, self.top):
            place = os.path.join(directory, "node_modules", request.name)
            real = self.files.resolve(place, ".")
            if real and self.files.has_file(real, _MANIFEST):
                return real
            directory = os.path.dirname(directory)
        return ""

    def note_missing(self, missing: int) -> None:
        """Note why packages have no text: they are in archives, or not installed."""
        notes, top = self.files.notes, self.top
        if any(os.path.lexists(os.path.join(top, name)) for name in _PNP):
            notes["Yarn PnP: versions are from yarn.lock, archives are not opened"] = None
            return
        packages = "1 package of npm is" if missing == 1 else f"{missing:,} packages of npm are"
        notes[f"{packages} not installed: name and version are from manifest and lock"] = None
        if not self.locks and os.path.lexists(os.path.join(top, _BINARY_LOCK)):
            notes[f"{_BINARY_LOCK} is not read; bun install --save-text-lockfile helps"] = None


def _read_installed(directory: str) -> Mapping[str, object]:
    path = os.path.join(directory, _MANIFEST)
    source = read_regular(path, MANIFEST_LIMIT).decode("utf-8-sig", "replace")
    return parse_json(source, path)


def _read_version(directory: str) -> str:
    try:
        return clean_version(_read_installed(directory).get("version"))
    except (FileNotFoundError, SourceError):
        return ""


def read_npm(directory: str) -> PackageText:
    """Read the package in a directory. Raises FileNotFoundError or SourceError."""
    content = _read_installed(directory)
    path = os.path.join(directory, _MANIFEST)
    return describe_directory(path, describe_package(content), list_declared(directory, content))


# The locks of npm, pnpm, Yarn and Bun.
#
# All but npm's and Bun's, which are JSON, are read line by line as their programs write them: a
# lock that is cut or edited gives the rest of its entries.

# A comma before what closes a list, outside of strings.
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
_PNPM_SECTIONS = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requirement of a member; `member` is its path relative to the lock, "" beside it."""

    member: str
    name: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Lock:
    """The versions in a lock by its own keys; `spell` gives the keys of a request."""

    versions: Mapping[str, str]
    spell: Callable[[Wanted], Iterable[str]]

    def find_version(self, wanted: Wanted) -> str:
        """Return the locked version; "" for none."""
        found = (self.versions.get(key, "") for key in self.spell(wanted))
        return next(filter(VERSION.match, found), "")


def read_locks(files: ProjectFiles, top: str) -> tuple[Lock, ...]:
    """Return the locks in a directory; an invalid one is a problem."""
    locks: list[Lock] = []
    for name, parse in _PARSERS.items():
        path = os.path.join(top, name)
        in_lines = name in _WRITTEN_IN_LINES
        source = files.read_lock(path) if in_lines else files.read_text(path, LOCK_LIMIT)
        if source is None:
            continue
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
    """Yield the paths at which a member finds a package, the nearest first."""
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
    """Parse yarn.lock of Yarn 1 or later: versions by requirements."""
    versions: dict[str, str] = {}
    asked: list[str] = []
    for line in split_lines(source):
        if line[0] not in " #\r":
            asked = [each.strip() for each in line.strip(" :\r").replace('"', "").split(",")]
        elif line.startswith("  version"):
            versions.update(dict.fromkeys(asked, line[len("  version") :].strip(' :"\r')))
    return Lock(versions, lambda w: (f"{w.name}@npm:{w.wanted}", f"{w.name}@{w.wanted}"))


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


# In order of precedence.
_PARSERS: Mapping[str, Callable[[str], Lock]] = {
    "pnpm-lock.yaml": parse_pnpm_lock,
    "yarn.lock": parse_yarn_lock,
    "bun.lock": parse_bun_lock,
    "npm-shrinkwrap.json": parse_npm_lock,
    "package-lock.json": parse_npm_lock,
}
_WRITTEN_IN_LINES = ("pnpm-lock.yaml", "yarn.lock")


# The names that a package exports: those in its package.json and its declarations.

_MOST_KEYS = 100
# How many files are searched for names.
_MOST_DECLARING = 8
_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")
_KEY = re.compile(r"\./[\w.~@/-]{1,100}\Z", re.ASCII)
_DECLARED = re.compile(
    r"^[ \t]*export[ \t]+(?:declare[ \t]+)?(?:default[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?"
    r"(?:function|const[ \t]+enum|const|let|var|class|interface|type|enum|namespace)"
    r"[ \t]+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_LISTED = re.compile(r"^[ \t]*export[ \t]+(?:type[ \t]+)?\{([^{}]*)\}", re.MULTILINE)
_STARRED = re.compile(
    r"""^[ \t]*export[ \t]+(?:type[ \t]+)?\*[ \t]+from[ \t]+["'](\.[^"'\n]{1,200})["']""",
    re.MULTILINE,
)
# `export = name`, and the declarations of a namespace of that name.
_WHOLE = re.compile(r"^[ \t]*export[ \t]*=[ \t]*([A-Za-z_$][\w$]*)", re.MULTILINE)
_IN_NAMESPACE = re.compile(
    r"^[ \t]{1,8}(?:export[ \t]+)?(?:function|const|class|interface|type)[ \t]+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{0,99}\Z")
_SCRIPT = re.compile(r"\.[cm]?js\Z")


def list_declared(directory: str, content: Mapping[str, object]) -> list[str]:
    """Return the paths that a package.json exports, and the names in its declarations.

    Each is returned once. `directory` is a real path; nothing outside of it is opened.
    """
    found: dict[str, None] = {}
    name = clean_text(content.get("name"))
    for key in list(as_table(content.get("exports")))[:_MOST_KEYS]:
        if _KEY.match(key) and not key.endswith(".json"):
            found[f"{name}/{key[2:]}"] = None
    for each in _list_exported(directory, _choose_declarations(content)):
        found[each] = None
        if len(found) >= MOST_EXPORTS:
            break
    return list(found)


def _choose_declarations(content: Mapping[str, object]) -> list[str]:
    """Return the files that may declare the exports of a package, the likeliest first."""
    stated = [content.get("types"), content.get("typings")]
    stated += _list_types(as_table(content.get("exports")).get("."), 4)
    named = [each for each in stated if isinstance(each, str)]
    return [*named[:_MOST_DECLARING], "index.d.ts"]


def _list_types(value: object, depth: int) -> Iterator[object]:
    """Yield the `types` among the conditions of an export."""
    for key, held in as_table(value).items():
        if key.startswith("types"):
            yield held
        if depth:
            yield from _list_types(held, depth - 1)


def _list_exported(directory: str, files: list[str]) -> Iterator[str]:
    """Yield the names that the first existing one of `files` exports.

    A module that it exports whole is read; beyond the first few, the module's own name counts.
    """
    left = EXPORTS_BYTES
    first = next((read for each in files if (read := _read_declaring(directory, each, left))), None)
    pending = [first] if first else []
    seen = {path for path, _ in pending}
    while pending:
        path, source = pending.pop(0)
        yield from _list_declared_names(source)
        left -= len(source)
        for target in _STARRED.findall(source):
            module = os.path.join(os.path.dirname(path), target)
            read = None
            if left > 0 and len(seen) < _MOST_DECLARING:
                read = _read_module(directory, module, left)
            if read is None:
                yield from _keep_names([_SCRIPT.sub("", os.path.basename(module))])
            elif read[0] not in seen:
                seen.add(read[0])
                pending.append(read)


def _read_module(directory: str, path: str, limit: int) -> tuple[str, str] | None:
    """Read the file that `export * from` names, mostly with another suffix."""
    stem = _SCRIPT.sub("", path)
    tries = [stem + suffix for suffix in _SUFFIXES] + [os.path.join(stem, "index.d.ts")]
    return next((read for each in tries if (read := _read_declaring(directory, each, limit))), None)


def _read_declaring(directory: str, name: str, limit: int) -> tuple[str, str] | None:
    """Return the path and the beginning of a file of declarations in the directory."""
    path = os.path.normpath(os.path.join(directory, name))
    text = read_beginning(path, directory, limit) if path.endswith(_SUFFIXES) else ""
    return (path, text) if text else None


def _list_declared_names(source: str) -> Iterator[str]:
    yield from _keep_names(_DECLARED.findall(source))
    for names in _LISTED.findall(source):
        listed = (each.split() for each in names.split(","))
        yield from _keep_names(words[-1] for words in listed if words)
    if whole := _WHOLE.findall(source):
        yield from _keep_names(whole[:1])
        yield from _keep_names(_IN_NAMESPACE.findall(source))


def _keep_names(names: Iterable[str]) -> Iterator[str]:
    yield from (name for name in names if name != "default" and _IDENTIFIER.match(name))
