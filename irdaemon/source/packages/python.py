"""Read a Python package directory: pyproject.toml, setup.cfg and setup.py are one package.

A field is taken from the first of the three that fills it, in this order, so that fields
`[project]` declares dynamic are found where setuptools keeps them. What it states to be empty is.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from configparser import ConfigParser
from dataclasses import dataclass, field, replace

from irdaemon.source.opening import followed, read_regular
from irdaemon.source.packages.manifest import (
    Manifest,
    choose_links,
    dependency,
    first_person,
    license_name,
    lines,
    manifest_error,
    merge_manifests,
    prose,
    read_ini,
    read_toml,
    split_requirements,
    table,
    text,
    texts,
    words,
)
from irdaemon.types import SourceError

# Read pyproject.toml: `[project]`, and Poetry's table for what that leaves out.

# What `[project]` states to be empty, it does not leave to setup.cfg, setup.py or Poetry's table.
_EMPTY_COUNTS = {
    "dependencies": "deps",
    "optional-dependencies": "optional_deps",
    "keywords": "keywords",
}


def _read_pyproject(path: str) -> Manifest | None:
    """Read a pyproject.toml; None when it only configures tools and so defines no package."""
    content = read_toml(path)
    poetry = table(table(content.get("tool")).get("poetry"))
    if not (poetry or "project" in content or "build-system" in content):
        return None
    groups = table(content.get("dependency-groups"))
    return merge_manifests((_project(table(content.get("project")), groups), _poetry(poetry)))


def _project(project: Mapping[str, object], groups: Mapping[str, object]) -> Manifest:
    author = first_person(project.get("authors"), project.get("maintainers"))
    urls = choose_links(table(project.get("urls")))
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
    urls = choose_links({**table(poetry.get("urls")), **named})
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


# Read setup.cfg's declarative metadata; `attr:` and `file:` values are left out, not followed.

_ELSEWHERE = ("attr:", "file:")
_SCRIPTS = ("console_scripts", "gui_scripts")


def _read_setup_cfg(path: str) -> Manifest | None:
    """Read a setup.cfg; None when it only configures tools and so defines no package."""
    config = read_ini(path)
    if not (config.has_section("metadata") or config.has_section("options")):
        return None
    urls = choose_links({"homepage": _value(config, "url"), **_pairs(_raw(config, "project_urls"))})
    return Manifest(
        name=_value(config, "name"),
        version=_value(config, "version"),
        description=_value(config, "description") or _value(config, "summary"),
        owner=_value(config, "author") or _value(config, "maintainer"),
        email=_value(config, "author_email") or _value(config, "maintainer_email"),
        license=license_name(_value(config, "license")),
        homepage=urls.homepage,
        repository=urls.repository,
        deps=_spelled_out(
            split_requirements(config.get("options", "install_requires", fallback=""))
        ),
        optional_deps=_spelled_out(_extras(config)),
        keywords=words(",".join(lines(_raw(config, "keywords")))),
        commands=command_names(_ini_lines(config, "options.entry_points", _SCRIPTS)),
        private="Private ::" in _raw(config, "classifiers"),
    )


def command_names(declared: Iterable[str]) -> tuple[str, ...]:
    """Return the names of entry points declared as `NAME = module:attr`."""
    return texts([line.partition("=")[0] for line in declared])


def _raw(config: ConfigParser, key: str) -> str:
    # Setuptools takes author-email for author_email too.
    dashed = config.get("metadata", key.replace("_", "-"), fallback=None)
    return config.get("metadata", key, fallback=None) or dashed or ""


def _value(config: ConfigParser, key: str) -> str:
    value = text(_raw(config, key))
    return "" if value.startswith(_ELSEWHERE) else value


def _spelled_out(requirements: Iterable[str]) -> tuple[str, ...]:
    return texts([line for line in requirements if not line.startswith(_ELSEWHERE)])


def _pairs(value: str) -> dict[str, object]:
    split = (line.partition("=") for line in lines(value))
    return {label.strip(): url.strip() for label, _, url in split}


def _extras(config: ConfigParser) -> list[str]:
    section = "options.extras_require"
    groups = config.items(section) if config.has_section(section) else []
    return [requirement for _, value in groups for requirement in split_requirements(value)]


def _ini_lines(config: ConfigParser, section: str, keys: tuple[str, ...] = ()) -> list[str]:
    if not config.has_section(section):
        return []
    chosen = (value for key, value in config.items(section) if not keys or key in keys)
    return [line for value in chosen for line in lines(value)]


# Read the literals of a setup.py's `setup(...)` call from its syntax tree; never run it.

# A syntax tree takes some hundred times the memory of its source, and an f-string time with the
# square of its length: half a megabyte keeps the parser, and the interpreter, busy for 25 seconds.
_SIZE_LIMIT = 64 * 1024
# `a = a + a`, forty times over, must not fill the memory.
_LONGEST = 100_000


def _read_setup_py(path: str) -> Manifest | None:
    """Read a setup.py; None when nothing in it calls `setup`."""
    try:
        tree = _parse_python(read_regular(followed(path, by_name=True), _SIZE_LIMIT))
        given = _setup_arguments(tree)
    except SyntaxError as error:
        raise manifest_error(path, f"not valid Python: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        raise manifest_error(path, f"not valid Python: {reason}") from error
    return None if given is None else _setup_manifest(given)


def _parse_python(source: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old file's escapes are not our user's concern
        return ast.parse(source)


def _setup_arguments(tree: ast.Module) -> Mapping[str, object] | None:
    known: dict[str, object] = {}
    for name, value in _assignments(tree):
        known[name] = _literal(value, known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_called(node.func) == "setup":
            return dict(_keywords(node, known))
    return None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _name_called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _keywords(call: ast.Call, known: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for keyword in call.keywords:
        value = _literal(keyword.value, known)
        if keyword.arg is None:
            yield from table(value).items()
        else:
            yield keyword.arg, value


def _literal(node: ast.expr, known: Mapping[str, object]) -> object:
    """Evaluate literals, known names and sums of them; None for anything else."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item, known) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {text(_literal(k, known)): _literal(v, known) for k, v in pairs if k}
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_literal(left, known), _literal(right, known))
    return None


def _sum(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return left + right if len(left) + len(right) <= _LONGEST else None
    if isinstance(left, list) and isinstance(right, list):
        return left + right if len(left) + len(right) <= _LONGEST else None
    return None


def _setup_manifest(given: Mapping[str, object]) -> Manifest:
    urls = choose_links({"homepage": given.get("url"), **table(given.get("project_urls"))})
    extras = table(given.get("extras_require")).values()
    return Manifest(
        name=text(given.get("name")),
        version=text(given.get("version")),
        description=text(given.get("description")),
        readme=prose(given.get("long_description")),
        owner=text(given.get("author")) or text(given.get("maintainer")),
        email=text(given.get("author_email")) or text(given.get("maintainer_email")),
        license=license_name(given.get("license")),
        homepage=urls.homepage,
        repository=urls.repository,
        deps=_split_listed(given.get("install_requires")),
        optional_deps=texts([item for extra in extras for item in _split_listed(extra)]),
        dev_deps=_split_listed(given.get("tests_require")),
        keywords=words(given.get("keywords")),
        commands=command_names(_scripts(table(given.get("entry_points")))),
        private=any(c.startswith("Private ::") for c in texts(given.get("classifiers"))),
    )


def _split_listed(value: object) -> tuple[str, ...]:
    return texts(lines(value) if isinstance(value, str) else value)


def _scripts(points: Mapping[str, object]) -> Iterator[str]:
    for group in ("console_scripts", "gui_scripts"):
        yield from _split_listed(points.get(group))


_READERS: dict[str, Callable[[str], Manifest | None]] = {
    "pyproject.toml": _read_pyproject,
    "setup.cfg": _read_setup_cfg,
    "setup.py": _read_setup_py,
}


@dataclass(slots=True)
class _Found:
    manifests: list[Manifest] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)
    present: bool = False

    def add(self, directory: str, name: str) -> None:
        try:
            manifest = _READERS[name](os.path.join(directory, name))
        except FileNotFoundError:
            return
        except SourceError as error:
            self.errors.append(error)
        else:
            self.manifests += [manifest] if manifest else []
        self.present = True


def load(directory: str) -> Manifest | None:
    """Read the package in `directory`; None when its files define none.

    A broken file beside one that names the package only flags it `broken_manifest`; without
    such a one its SourceError is raised. Raises FileNotFoundError when all three are gone.
    """
    found = _Found()
    for name in _READERS:
        found.add(directory, name)
    if not found.present:
        raise FileNotFoundError(directory)
    package = merge_manifests(found.manifests) if found.manifests else None
    if found.errors and not (package and package.name):
        raise found.errors[0]
    return replace(package, flags=("broken_manifest",)) if package and found.errors else package
