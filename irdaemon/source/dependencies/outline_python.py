"""Print the names that a module of Python offers: run in a child process, as a file alone.

    python -P outline_python.py < SOURCE

Prints JSON: [names, modules]. The names are those of `__all__` where that is written out, else what
is defined at the top and does not begin with an underscore, with what is imported from the same
package. The modules are those that it takes every name from (`from .core import *`), with as many
dots before them as they have there. Prints null where the text is not Python.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Iterable, Iterator

_MOST_NAMES = 1_000
_LONGEST_NAME = 80
_MOST_MODULES = 20
# How deep `if` and `try` may stand around a definition.
_DEEPEST = 3


def main() -> None:
    """Outline the text in stdin."""
    source = sys.stdin.buffer.read()
    package, _, text = source.partition(b"\n")
    print(json.dumps(outline(text, package.decode())))


def outline(source: bytes, package: str) -> list[list[str]] | None:
    """Return the names and the modules; None where the text is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    statements = list(_list_statements(tree.body, 0))
    stated = list(dict.fromkeys(_list_stated(statements)))
    names = stated or dict.fromkeys(_list_defined(statements, package))
    modules = dict.fromkeys(_list_modules(statements, package))
    valid = [each for each in names if each.isidentifier() and len(each) <= _LONGEST_NAME]
    return [valid[:_MOST_NAMES], list(modules)[:_MOST_MODULES]]


def _list_statements(body: Iterable[ast.stmt], depth: int) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if depth < _DEEPEST and isinstance(statement, ast.If | ast.Try | ast.With):
            inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
            inner += [handler.body for handler in getattr(statement, "handlers", [])]
            for part in inner:
                yield from _list_statements(part, depth + 1)


def _list_stated(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that literals put into `__all__`."""
    for statement in statements:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ):
                yield from _list_texts(value)
            case ast.Expr(
                ast.Call(
                    func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend" | "append"),
                    args=[value],
                )
            ):
                yield from _list_texts(value)


def _list_texts(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(value=str() as text):
            yield text
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            for item in items:
                yield from _list_texts(item)
        case ast.BinOp(left=left, right=right):
            yield from _list_texts(left)
            yield from _list_texts(right)


def _list_defined(statements: Iterable[ast.stmt], package: str) -> Iterator[str]:
    for statement in statements:
        for name in _list_bound(statement, package):
            if not name.startswith("_"):
                yield name


def _list_bound(statement: ast.stmt, package: str) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.ImportFrom() if _is_own(statement, package):
            yield from (alias.asname or alias.name for alias in statement.names)


def _is_own(statement: ast.ImportFrom, package: str) -> bool:
    module = statement.module or ""
    return statement.level == 1 or (
        not statement.level and bool(package) and module.split(".")[0] == package
    )


def _list_modules(statements: Iterable[ast.stmt], package: str) -> Iterator[str]:
    own = (each for each in statements if isinstance(each, ast.ImportFrom))
    for each in own:
        if _is_own(each, package) and any(alias.name == "*" for alias in each.names):
            yield "." * each.level + (each.module or "")


if __name__ == "__main__":
    main()
