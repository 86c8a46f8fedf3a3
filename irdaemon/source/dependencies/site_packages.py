"""Find the packages of a Python environment, and read the text of a distribution.

Of an environment only its site-packages directory is listed. A link in it may lead anywhere: what
is a link there is not read.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, run_program
from irdaemon.source.dependencies import outline_python
from irdaemon.source.dependencies.outline_python import outline
from irdaemon.source.dependencies.requirements import (
    choose_newest,
    is_python_name,
    is_version,
    normalize_name,
)
from irdaemon.source.opening import (
    is_within,
    list_entries,
    open_regular,
    read_regular,
    resolve_path,
)
from irdaemon.source.packages import python
from irdaemon.source.packages.manifest import (
    Manifest,
    PackageText,
    Readme,
    hash_bytes,
    merge_manifests,
    read_readme,
)
from irdaemon.types import SourceError

# A project's own environment, by the name that every tool gives it.
_OWN = (".venv", "venv")
# Where uv and pipx keep the environments of programs.
_TOOLS = ("/uv/tools/", "/pipx/venvs/", "/pipx/shared/")
_INTERPRETER = re.compile(r"(?:python|pypy)3[\d.]*t?\Z", re.ASCII)
_MOST_LISTED = 50_000


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment: its real path, and its distributions by their normalised names."""

    path: str
    distributions: Mapping[str, Distribution] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Distribution:
    """An installed package: its version, and the real path of its metadata, mostly a directory."""

    version: str
    path: str


def find_own_environment(directory: str) -> str:
    """Return the real path of the environment that lies in a real directory, "" for none."""
    for name in _OWN:
        path = os.path.join(directory, name)
        configured = os.path.join(path, "pyvenv.cfg")
        if _is_own(path, stat.S_ISDIR) and _is_own(configured, stat.S_ISREG):
            return path
    return ""


def refuse_environment(path: str) -> str:
    """Return why an environment at a real path is no project's, "" where it may be."""
    if sys.prefix != sys.base_prefix and is_within(path, resolve_path(sys.prefix)):
        return "it is the environment that irdaemon runs in"
    if any(tools in f"{path}/" for tools in _TOOLS):
        return "it is the environment of an installed program"
    if not list_sites(path):
        return "it is no Python environment: it has no lib/python3.*/site-packages"
    return ""


def read_environment(path: str) -> Environment:
    """List the distributions of the environment at a real path."""
    found: dict[str, dict[str, str]] = {}
    for site in list_sites(path):
        for entry in islice(list_entries(site), _MOST_LISTED):
            stem, suffix = os.path.splitext(entry.name)
            if suffix in python.SUFFIXES and not entry.is_symlink():
                name, _, version = stem.partition("-")
                if is_python_name(name):
                    version = version.partition("-py")[0] if suffix == ".egg-info" else version
                    found.setdefault(normalize_name(name), {})[version] = entry.path
    return Environment(path, {name: _choose(versions) for name, versions in found.items()})


def _choose(versions: Mapping[str, str]) -> Distribution:
    """Return the newest of several versions, which an interrupted installation leaves."""
    version = choose_newest(versions)
    return Distribution(version if is_version(version) else "", versions[version])


def list_sites(path: str) -> list[str]:
    """Return an environment's site-packages directories that are not behind a link."""
    library = os.path.join(path, "lib")
    names = sorted(each.name for each in list_entries(library) if _INTERPRETER.match(each.name))
    sites = (os.path.join(library, name, "site-packages") for name in names)
    return [site for site in sites if resolve_path(site) == site and os.path.isdir(site)]


def _is_own(path: str, is_kind: Callable[[int], bool]) -> bool:
    """Return whether something of a kind, and no link, is at a path."""
    try:
        return is_kind(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


# Read a distribution, or a package of the project itself.

# The README is part of it; the text beyond this limit is not shown.
_HEADER_CHARS, _README_CHARS = 128 * 1024, 20_000
_METADATA_LIMIT = 16 * MB


def read_python(directory: str) -> PackageText:
    """Read a distribution by its metadata, or the package in a directory of the project.

    Raises FileNotFoundError or SourceError.
    """
    if not directory.endswith(python.SUFFIXES):
        return _read_package(directory)
    pointer = _find_metadata(directory)
    data = read_regular(pointer, _METADATA_LIMIT)
    header, blank, body = data.decode("utf-8-sig", "replace").partition("\n\n")
    short = header[:_HEADER_CHARS] + blank + body[:_README_CHARS]
    manifest = python.parse_metadata(short)
    readme = Readme(manifest.readme, hash_bytes(data))
    return PackageText(manifest, pointer, readme, list_exports(directory))


def _read_package(directory: str) -> PackageText:
    manifests = (_parse_manifest(os.path.join(directory, name)) for name in python.MANIFESTS)
    manifest = merge_manifests(filter(None, manifests))
    return PackageText(manifest, directory, read_readme(directory, by_name=False))


def _parse_manifest(path: str) -> Manifest | None:
    parse, limit = python.MANIFESTS[os.path.basename(path)]
    try:
        return parse(read_regular(path, limit).decode("utf-8-sig", "replace"), path)
    except (FileNotFoundError, SourceError):
        return None


def _find_metadata(directory: str) -> str:
    """Return the file of a distribution's metadata; an old egg-info is that file."""
    if os.path.isfile(directory):
        return directory
    held = (os.path.join(directory, name) for name in python.METADATA)
    return next(
        (path for path in held if os.path.isfile(path)), os.path.join(directory, "METADATA")
    )


# The names that a distribution exports: its modules, and the names in their `__init__`.

_LIMITS = ProcessLimits(10.0, 512 * MB)
_OUTPUT = MB
_PROGRAM = outline_python.__file__
_RECORD_BYTES = 1 * MB
# A parser takes a thousand times the memory of a text, and for some texts time with the square of
# their length: for a short one less than a child process takes to answer on a busy machine.
_PARSED_HERE = 16 * 1024
_MODULE_LIMIT = 128 * 1024
_MOST_MODULES = 5
_MOST_READ = 8
_MOST_NAMES = 300
# With fewer names than this, the modules of a package count as its names.
_FEW_NAMES = 10
_NO_MODULES = frozenset({"tests", "test", "docs", "examples", "benchmarks"})
_ENDINGS = (".py", ".pyi", ".so", ".pyd")


def list_exports(directory: str) -> tuple[str, ...]:
    """Return the modules of an installed distribution, then the names that they export."""
    site, files = os.path.dirname(directory), list(list_files(directory))
    modules = _list_modules(directory, files)
    names: dict[str, None] = dict.fromkeys(module.replace("/", ".") for module in modules)
    for module in modules:
        names.update(dict.fromkeys(_list_names(site, module, frozenset(files))))
    if len(names) < _FEW_NAMES:
        names.update(dict.fromkeys(_list_submodules(modules, files)))
    return tuple(islice(names, _MOST_NAMES))


def list_files(directory: str) -> Iterator[str]:
    """Yield the modules that the beginning of a RECORD names, by their paths in site-packages."""
    for name in ("RECORD", "installed-files.txt", "SOURCES.txt"):
        for line in _read_lines(os.path.join(directory, name)):
            path = line.split(",", 1)[0].removeprefix("../").strip('"')
            parts = path.split("/")
            if path.endswith(_ENDINGS) and not {"", ".", ".."} & set(parts):
                yield path


def _read_lines(path: str) -> list[str]:
    try:
        with open_regular(path) as file:
            return file.read(_RECORD_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, SourceError):
        return []


def _list_modules(directory: str, files: list[str]) -> list[str]:
    """Return the paths of the modules to import, without endings; of a namespace, its modules."""
    stated = [line for line in _read_lines(os.path.join(directory, "top_level.txt")) if line]
    found: dict[str, None] = {}
    own = normalize_name(python.read_name(directory)).replace("-", "_")
    for path in sorted(files, key=lambda each: (each.count("/"), not each.startswith(own))):
        *above, file = path.split("/")
        module = "/".join(above) if file.startswith("__init__.py") else ""
        if not above and "." in file:
            module = file.partition(".")[0]
        inside = any(module.startswith(f"{other}/") for other in found)
        if module and not inside and _is_public(module, stated):
            found.setdefault(module)
    named = [name for name in stated if name not in found and _is_public(name, ())]
    return list(islice(found or dict.fromkeys(named), _MOST_MODULES))


def _list_submodules(modules: list[str], files: list[str]) -> Iterator[str]:
    """Yield the modules directly in packages, by their import names."""
    for path in files:
        above, _, file = path.rpartition("/")
        directory, name = os.path.split(above) if file.startswith("__init__.py") else (above, file)
        module = name.partition(".")[0]
        if directory in modules and _is_public(module, ()):
            yield f"{directory}/{module}".replace("/", ".")


def _is_public(module: str, stated: list[str] | tuple[()]) -> bool:
    first, *_ = parts = module.split("/")
    proper = all(part.isidentifier() and not part.startswith("_") for part in parts)
    return proper and (first in stated or first not in _NO_MODULES)


def _list_names(site: str, module: str, files: frozenset[str]) -> Iterator[str]:
    """Yield the names that a module exports, those of modules beside it included."""
    pending, seen = deque([module]), {module}
    while pending and len(seen) <= _MOST_READ:
        path = pending.popleft()
        outlined = _outline(site, path, files)
        if outlined is None:
            continue
        names, starred, package = outlined
        yield from (each for each in names if not each.startswith("_"))
        for each in starred:
            below = _join_module(package, module, each)
            if below and below not in seen:
                seen.add(below)
                pending.append(below)


def _join_module(package: str, top: str, starred: str) -> str:
    """Return the path of a star-imported module; "" for another package's."""
    relative = starred.startswith(".")
    path = starred.lstrip(".").replace(".", "/")
    path = f"{package}/{path}".rstrip("/") if relative else path
    return path if path != package and is_within(path, top) else ""


def _parse_module(text: bytes, package: str) -> list[list[str]] | None:
    if len(text) <= _PARSED_HERE:
        return outline(text, package)
    request = package.encode() + b"\n" + text
    found: list[list[str]] | None = json.loads(run_program(_PROGRAM, request, _LIMITS, _OUTPUT))
    return found


def _outline(
    site: str, module: str, files: frozenset[str]
) -> tuple[list[str], list[str], str] | None:
    """Return the names and starred modules of a module, and the package that it lies in."""
    for ending in ("/__init__.pyi", "/__init__.py", ".pyi", ".py"):
        if f"{module}{ending}" not in files:
            continue
        try:
            text = read_regular(os.path.join(site, module + ending), _MODULE_LIMIT)
            outlined = _parse_module(text, module.partition("/")[0])
        except (FileNotFoundError, SourceError, Unavailable, ValueError):
            continue
        if outlined is not None:
            names, starred = outlined
            return names, starred, module if "/" in ending else os.path.dirname(module)
    return None
