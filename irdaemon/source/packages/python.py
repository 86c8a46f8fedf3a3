"""Read a Python package directory: pyproject.toml, setup.cfg and setup.py are one package.

A field is taken from the first of the three that fills it, in this order, so that fields
`[project]` declares dynamic are found where setuptools keeps them. What it states to be empty is.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from configparser import ConfigParser
from dataclasses import replace
from email.message import Message
from email.parser import Parser
from email.policy import compat32
from email.utils import parseaddr
from typing import Any

from irdaemon.source.opening import follow_link, read_regular
from irdaemon.source.packages.manifest import (
    MANIFEST_LIMIT,
    Manifest,
    Person,
    as_table,
    clean_prose,
    clean_text,
    clean_texts,
    clean_url,
    decode_text,
    make_error,
    make_manifest,
    merge_manifests,
    parse_ini,
    parse_json,
    parse_toml,
    read_text,
    split_lines,
    split_requirements,
    write_dependency,
)
from irdaemon.types import SourceError

# Read pyproject.toml: `[project]`, and Poetry's table for the fields that it leaves out.

# A field that `[project]` states to be empty is not left to setup.cfg, setup.py or Poetry's table.
_EMPTY_COUNTS = {
    "dependencies": "deps",
    "optional-dependencies": "optional_deps",
    "keywords": "keywords",
}


def parse_pyproject(source: str, path: str) -> Manifest | None:
    """Parse a pyproject.toml; None when it only configures tools and so defines no package."""
    return describe_pyproject(parse_toml(source, path))


def describe_pyproject(content: Mapping[str, object]) -> Manifest | None:
    """Return the manifest in a pyproject.toml; None when it only configures tools."""
    poetry = as_table(as_table(content.get("tool")).get("poetry"))
    if not (poetry or "project" in content or "build-system" in content):
        return None
    groups = as_table(content.get("dependency-groups"))
    return merge_manifests(
        (_read_project(as_table(content.get("project")), groups), _read_poetry(poetry))
    )


def _read_project(project: Mapping[str, object], groups: Mapping[str, object]) -> Manifest:
    licence, people = project.get("license"), (project.get("authors"), project.get("maintainers"))
    stated = {**project, "license": as_table(licence).get("text") or licence}
    return replace(
        make_manifest(stated, people, as_table(project.get("urls"))),
        readme=clean_prose(as_table(project.get("readme")).get("text")),
        deps=clean_texts(project.get("dependencies")),
        optional_deps=_join_groups(as_table(project.get("optional-dependencies"))),
        dev_deps=_join_groups(groups),
        commands=clean_texts(
            [*as_table(project.get("scripts")), *as_table(project.get("gui-scripts"))]
        ),
        given=frozenset(
            field for key, field in _EMPTY_COUNTS.items() if project.get(key) in ([], {})
        ),
    )


def _join_groups(groups: Mapping[str, object]) -> tuple[str, ...]:
    return clean_texts([item for group in groups.values() for item in clean_texts(group)])


def _read_poetry(poetry: Mapping[str, object]) -> Manifest:
    named = {label: poetry.get(label) for label in ("homepage", "repository")}
    urls = {**as_table(poetry.get("urls")), **named}
    required = as_table(poetry.get("dependencies"))
    optional = {n: spec for n, spec in required.items() if as_table(spec).get("optional") is True}
    needed = {n: spec for n, spec in required.items() if n not in optional}
    return replace(
        make_manifest(poetry, (poetry.get("authors"), poetry.get("maintainers")), urls),
        deps=_write_poetry(needed),
        optional_deps=_write_poetry(optional),
        dev_deps=_write_poetry(*_list_dev_groups(poetry)),
        commands=clean_texts(list(as_table(poetry.get("scripts")))),
    )


def _write_poetry(*tables: Mapping[str, object]) -> tuple[str, ...]:
    return clean_texts(
        [_write_poetry_dependency(*item) for table in tables for item in table.items()]
    )


def _write_poetry_dependency(name: str, spec: object) -> str:
    if name.lower() == "python":  # the interpreter, not a package
        return ""
    first = spec[0] if isinstance(spec, list) and spec else spec
    return write_dependency(name, as_table(first).get("version") or first)


def _list_dev_groups(poetry: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    yield as_table(poetry.get("dev-dependencies"))
    for group in as_table(poetry.get("group")).values():
        yield as_table(as_table(group).get("dependencies"))


# Read setup.cfg's declarative metadata; `attr:` and `file:` values are left out, not followed.

_ELSEWHERE = ("attr:", "file:")
_SCRIPTS = ("console_scripts", "gui_scripts")
_STATED = (
    "name", "version", "description", "license", "url", "author", "author_email", "maintainer",
    "maintainer_email",
)  # fmt: skip


def parse_setup_cfg(source: str, path: str) -> Manifest | None:
    """Parse a setup.cfg; None when it only configures tools and so defines no package."""
    config = parse_ini(source, path)
    if not (config.has_section("metadata") or config.has_section("options")):
        return None
    stated: dict[str, object] = {key: _get_value(config, key) for key in _STATED}
    stated["description"] = stated["description"] or _get_value(config, "summary")
    stated["keywords"] = ",".join(split_lines(_get_raw(config, "keywords")))
    stated["classifiers"] = split_lines(_get_raw(config, "classifiers"))
    pairs = (line.partition("=") for line in split_lines(_get_raw(config, "project_urls")))
    links = {"homepage": stated["url"], **{label.strip(): url.strip() for label, _, url in pairs}}
    return replace(
        make_manifest(stated, (_choose_contact(stated),), links),
        deps=_drop_references(
            split_requirements(config.get("options", "install_requires", fallback=""))
        ),
        optional_deps=_drop_references(_list_extras(config)),
        commands=_list_command_names(_list_ini_lines(config, "options.entry_points", _SCRIPTS)),
    )


def _choose_contact(stated: Mapping[str, object]) -> Person:
    return Person(
        clean_text(stated.get("author")) or clean_text(stated.get("maintainer")),
        clean_text(stated.get("author_email")) or clean_text(stated.get("maintainer_email")),
    )


def _list_command_names(declared: Iterable[str]) -> tuple[str, ...]:
    """Return the names of entry points declared as `NAME = module:attr`."""
    return clean_texts([line.partition("=")[0] for line in declared])


def _get_raw(config: ConfigParser, key: str) -> str:
    # Setuptools takes author-email for author_email too.
    dashed = config.get("metadata", key.replace("_", "-"), fallback=None)
    return config.get("metadata", key, fallback=None) or dashed or ""


def _get_value(config: ConfigParser, key: str) -> str:
    value = clean_text(_get_raw(config, key))
    return "" if value.startswith(_ELSEWHERE) else value


def _drop_references(requirements: Iterable[str]) -> tuple[str, ...]:
    return clean_texts([line for line in requirements if not line.startswith(_ELSEWHERE)])


def _list_extras(config: ConfigParser) -> list[str]:
    section = "options.extras_require"
    groups = config.items(section) if config.has_section(section) else []
    return [requirement for _, value in groups for requirement in split_requirements(value)]


def _list_ini_lines(config: ConfigParser, section: str, keys: tuple[str, ...]) -> list[str]:
    stated = config.items(section) if config.has_section(section) else []
    return [line for key, value in stated if key in keys for line in split_lines(value)]


# Read the literals of a setup.py's `setup(...)` call from its syntax tree; never run it.

# A syntax tree takes some hundred times the memory of its source, and an f-string time with the
# square of its length: half a megabyte keeps the parser, and the interpreter, busy for 25 seconds.
SETUP_PY_LIMIT = 64 * 1024
# `a = a + a`, forty times over, must not fill the memory.
_LONGEST = 100_000


def parse_setup_py(source: str | bytes, path: str) -> Manifest | None:
    """Parse a setup.py; None when nothing in it calls `setup`."""
    try:
        given = _find_arguments(_parse_python(source))
    except SyntaxError as error:
        raise make_error(path, f"not valid Python: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        raise make_error(path, f"not valid Python: {reason}") from error
    return None if given is None else _make_setup_manifest(given)


def _parse_python(source: str | bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old file's escapes are not our user's concern
        return ast.parse(source)


def _find_arguments(tree: ast.Module) -> Mapping[str, object] | None:
    known: dict[str, object] = {}
    for name, value in _list_assignments(tree):
        known[name] = _evaluate(value, known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _find_called_name(node.func) == "setup":
            return dict(_list_keywords(node, known))
    return None


def _list_assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _find_called_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _list_keywords(call: ast.Call, known: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for keyword in call.keywords:
        value = _evaluate(keyword.value, known)
        if keyword.arg is None:
            yield from as_table(value).items()
        else:
            yield keyword.arg, value


def _evaluate(node: ast.expr, known: Mapping[str, object]) -> object:
    """Evaluate literals, known names and sums of them; None for anything else."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_evaluate(item, known) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {clean_text(_evaluate(k, known)): _evaluate(v, known) for k, v in pairs if k}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _add(_evaluate(left, known), _evaluate(right, known))
    return None


def _add(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return left + right if len(left) + len(right) <= _LONGEST else None
    if isinstance(left, list) and isinstance(right, list):
        return left + right if len(left) + len(right) <= _LONGEST else None
    return None


def _make_setup_manifest(given: Mapping[str, object]) -> Manifest:
    urls = {"homepage": given.get("url"), **as_table(given.get("project_urls"))}
    extras = as_table(given.get("extras_require")).values()
    scripts = as_table(given.get("entry_points"))
    return replace(
        make_manifest(given, (_choose_contact(given),), urls),
        readme=clean_prose(given.get("long_description")),
        deps=_split_listed(given.get("install_requires")),
        optional_deps=clean_texts([item for extra in extras for item in _split_listed(extra)]),
        dev_deps=_split_listed(given.get("tests_require")),
        commands=_list_command_names(
            line for group in _SCRIPTS for line in _split_listed(scripts.get(group))
        ),
    )


def _split_listed(value: object) -> tuple[str, ...]:
    return clean_texts(split_lines(value) if isinstance(value, str) else value)


# How each manifest is parsed, and the largest that is; of a field the first that fills it counts.
MANIFESTS: Mapping[str, tuple[Callable[[Any, str], Manifest | None], int]] = {
    "pyproject.toml": (parse_pyproject, MANIFEST_LIMIT),
    "setup.cfg": (parse_setup_cfg, MANIFEST_LIMIT),
    "setup.py": (parse_setup_py, SETUP_PY_LIMIT),
}


def load(directory: str) -> Manifest | None:
    """Read the package in `directory`; None when its files define none.

    A broken file beside one that names the package only flags it `broken_manifest`; without
    such a one its SourceError is raised. Raises FileNotFoundError when all three are gone.
    """
    manifests: list[Manifest] = []
    errors: list[SourceError] = []
    missing = 0
    for name, (parse, limit) in MANIFESTS.items():
        path = os.path.join(directory, name)
        try:
            data = read_regular(follow_link(path, by_name=True), limit)
            # Python's parser looks for the encoding itself.
            manifest = parse(data if name == "setup.py" else decode_text(data, path), path)
        except FileNotFoundError:
            missing += 1
        except SourceError as error:
            errors.append(error)
        else:
            manifests += [manifest] if manifest else []
    if missing == len(MANIFESTS):
        raise FileNotFoundError(directory)
    package = merge_manifests(manifests) if manifests else None
    if errors and not (package and package.name):
        raise errors[0]
    return replace(package, flags=("broken_manifest",)) if package and errors else package


# Read an installed Python distribution: the METADATA of a *.dist-info, or an egg's PKG-INFO.
#
# `importlib.metadata` would open the files by itself, past the limits of `source.opening`, and what
# it gives of these headers is the same email message.

# Further files of a distribution, beside its metadata.

SUFFIXES = (".dist-info", ".egg-info")
METADATA = ("METADATA", "PKG-INFO")
BESIDE = ("entry_points.txt", "direct_url.json")


def load_distribution(path: str, source: str) -> Manifest:
    """Read the distribution in `path` from the text of its metadata file.

    The files beside it name the programs it installs and where it was installed from. One that
    cannot be parsed flags the result `broken_manifest`.
    """
    commands = _read_file(_read_entry_points, os.path.join(path, "entry_points.txt"))
    origin = _read_file(_read_direct_url, os.path.join(path, "direct_url.json"))
    return merge_manifests((parse_metadata(source), commands, origin))


def _read_file(reader: Callable[[str], Manifest], path: str) -> Manifest:
    try:
        return reader(path)
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except SourceError:
        return Manifest(flags=("broken_manifest",))


def _read_entry_points(path: str) -> Manifest:
    groups = parse_ini(read_text(path), path)
    scripts = [g for g in ("console_scripts", "gui_scripts") if groups.has_section(g)]
    return Manifest(
        commands=clean_texts([name for group in scripts for name in groups.options(group)])
    )


def _read_direct_url(path: str) -> Manifest:
    content = parse_json(read_text(path), path)
    editable = as_table(content.get("dir_info")).get("editable") is True
    return Manifest(origin=clean_url(clean_text(content.get("url"))), editable=editable)


_EXTRA = re.compile(r"\bextra\s*==")
_FOLD = re.compile(r"\n(?: {8}| {7}\|)")


def find_metadata(path: str) -> str:
    """Return the file that holds a distribution's metadata; an old egg-info is that file.

    Raises FileNotFoundError when the distribution is gone, SourceError when it has no such file.
    """
    if os.path.isfile(path):
        return path
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    held = (os.path.join(path, name) for name in METADATA)
    found = next((name for name in held if os.path.isfile(name)), None)
    if found is None:
        raise SourceError(f"{path}: has no METADATA", "reinstall or remove the distribution")
    return found


def parse_metadata(source: str) -> Manifest:
    """Return what the text of a METADATA or PKG-INFO says."""
    message = Parser(policy=compat32).parsestr(source)
    pairs = (value.partition(",") for value in message.get_all("Project-URL", []))
    urls = {"homepage": message.get("Home-page"), **{label: url.strip() for label, _, url in pairs}}
    required = clean_texts(message.get_all("Requires-Dist", []))
    optional = tuple(d for d in required if _EXTRA.search(d.partition(";")[2]))
    stated = {
        "name": message.get("Name"),
        "version": message.get("Version"),
        "description": message.get("Summary"),
        "license": message.get("License-Expression") or message.get("License"),
        "keywords": message.get("Keywords"),
        "classifiers": message.get_all("Classifier", []),
    }
    people = _read_contact(message, "Author"), _read_contact(message, "Maintainer")
    header = message.get("Description")
    return replace(
        make_manifest(stated, people, urls),
        readme=clean_prose(_FOLD.sub("\n", header) if header else message.get_payload()),
        deps=tuple(d for d in required if d not in optional),
        optional_deps=optional,
    )


def read_name(path: str) -> str:
    """Return the distribution's name as its file name spells it."""
    return os.path.splitext(os.path.basename(path))[0].partition("-")[0]


def _read_contact(message: Message, role: str) -> Person:
    """Read `Author` and `Author-email`; the latter may hold `Name <email>, ...` too."""
    named, address = parseaddr(message.get(f"{role}-email", ""))
    return Person(clean_text(message.get(role)) or clean_text(named), clean_text(address))
