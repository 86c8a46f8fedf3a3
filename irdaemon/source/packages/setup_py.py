"""Read the literals of a setup.py's `setup(...)` call from its syntax tree; never run it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping

from irdaemon.source.opening import followed, read_regular
from irdaemon.source.packages.links import links
from irdaemon.source.packages.manifest import (
    Manifest,
    broken,
    license_name,
    prose,
    table,
    text,
    texts,
    words,
)
from irdaemon.source.packages.parse import lines
from irdaemon.source.packages.setup_cfg import command_names

# A syntax tree takes some hundred times the memory of its source, and an f-string time with the
# square of its length: half a megabyte keeps the parser, and the interpreter, busy for 25 seconds.
_SIZE_LIMIT = 64 * 1024
# `a = a + a`, forty times over, must not fill the memory.
_LONGEST = 100_000


def read(path: str) -> Manifest | None:
    """Read a setup.py; None when nothing in it calls `setup`."""
    try:
        tree = _parsed(read_regular(followed(path, by_name=True), _SIZE_LIMIT))
        given = _setup_arguments(tree)
    except SyntaxError as error:
        raise broken(path, f"not valid Python: {error.msg}", error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "nested too deeply"
        raise broken(path, f"not valid Python: {reason}") from error
    return None if given is None else _manifest(given)


def _parsed(source: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an old file's escapes are not our user's concern
        return ast.parse(source)


def _setup_arguments(tree: ast.Module) -> Mapping[str, object] | None:
    known: dict[str, object] = {}
    for name, value in _assignments(tree):
        known[name] = _literal(value, known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node.func) == "setup":
            return dict(_keywords(node, known))
    return None


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _called(function: ast.expr) -> str:
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


def _manifest(given: Mapping[str, object]) -> Manifest:
    urls = links({"homepage": given.get("url"), **table(given.get("project_urls"))})
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
        deps=_listed(given.get("install_requires")),
        optional_deps=texts([item for extra in extras for item in _listed(extra)]),
        dev_deps=_listed(given.get("tests_require")),
        keywords=words(given.get("keywords")),
        commands=command_names(_scripts(table(given.get("entry_points")))),
        private=any(c.startswith("Private ::") for c in texts(given.get("classifiers"))),
    )


def _listed(value: object) -> tuple[str, ...]:
    return texts(lines(value) if isinstance(value, str) else value)


def _scripts(points: Mapping[str, object]) -> Iterator[str]:
    for group in ("console_scripts", "gui_scripts"):
        yield from _listed(points.get(group))
