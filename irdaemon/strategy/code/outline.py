"""Print the symbols of a program text: run by `list_symbols` in a child process, as a file alone.

    python -P outline.py < REQUEST

A request is the name of a language, a line feed, and the text in UTF-8, its lines ended by line
feeds. Prints JSON: a list of symbols in the order of the text, each with `name`, `kind`, `start`
and `end` (lines from 1 on, both in it), `head` (the last line before its body) and `parents` (the
names of what it lies in). Or prints null, where the text has errors or nothing here reads the
language.

Python is read by the interpreter's own parser, anything else, and what that refuses, by a grammar
of tree-sitter where one is installed.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

# What is nested deeper belongs to the symbol around it.
_DEEPEST = 8
_LONGEST_NAME = 100
_METHODS_IN = ("class", "interface", "trait", "impl", "enum", "struct", "record")
_FUNCTION = "function"


class _Symbol(NamedTuple):
    """A symbol: its lines from 1 on, the last line before its body, and the symbols around it."""

    name: str
    kind: str
    start: int
    end: int
    head: int
    parents: tuple[str, ...]


class _Grammar(NamedTuple):
    """A language's grammar: where it is, what to look for, and the kind of each type of node.

    `wrappers` are the types of nodes around one that belong to it; a `tolerant` grammar does not
    know a preprocessor, so that what is whole counts although the text has errors.
    """

    module: str
    kinds: dict[str, str]
    more: str = ""
    wrappers: tuple[str, ...] = ()
    function: str = "language"
    tolerant: bool = False


_SCRIPT_KINDS = {
    "function_declaration": _FUNCTION,
    "generator_function_declaration": _FUNCTION,
    "class_declaration": "class",
    "method_definition": _FUNCTION,
    "variable_declarator": _FUNCTION,
    "assignment_expression": _FUNCTION,
    "field_definition": _FUNCTION,
    "public_field_definition": _FUNCTION,
}
_TYPE_KINDS = {
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "type_alias_declaration": "type",
    "internal_module": "module",
}
_FUNCTIONS = "[(arrow_function) (function_expression)]"
_MORE_SCRIPT = (
    f"(variable_declarator value: {_FUNCTIONS}) @s"
    f" (assignment_expression left: (member_expression) right: {_FUNCTIONS}) @s"
)
_SCRIPT_WRAPPERS = (
    "export_statement", "lexical_declaration", "variable_declaration", "expression_statement",
    "ambient_declaration",
)  # fmt: skip
_TYPED = f"{_MORE_SCRIPT} (public_field_definition value: {_FUNCTIONS}) @s"

_GRAMMARS = {
    "python": _Grammar(
        "tree_sitter_python",
        {"function_definition": _FUNCTION, "class_definition": "class"},
        wrappers=("decorated_definition",),
    ),
    "javascript": _Grammar(
        "tree_sitter_javascript",
        _SCRIPT_KINDS,
        f"{_MORE_SCRIPT} (field_definition value: {_FUNCTIONS}) @s",
        _SCRIPT_WRAPPERS,
    ),
    "typescript": _Grammar(
        "tree_sitter_typescript",
        _SCRIPT_KINDS | _TYPE_KINDS,
        _TYPED,
        _SCRIPT_WRAPPERS,
        "language_typescript",
    ),
    "tsx": _Grammar(
        "tree_sitter_typescript",
        _SCRIPT_KINDS | _TYPE_KINDS,
        _TYPED,
        _SCRIPT_WRAPPERS,
        "language_tsx",
    ),
    "go": _Grammar(
        "tree_sitter_go",
        {"function_declaration": _FUNCTION, "method_declaration": "method", "type_spec": "type"},
        wrappers=("type_declaration",),
    ),
    "rust": _Grammar(
        "tree_sitter_rust",
        {
            "function_item": _FUNCTION, "struct_item": "struct", "enum_item": "enum",
            "union_item": "union", "trait_item": "trait", "impl_item": "impl",
            "mod_item": "module", "macro_definition": "macro", "type_item": "type",
        },
    ),
    "java": _Grammar(
        "tree_sitter_java",
        {
            "class_declaration": "class", "interface_declaration": "interface",
            "enum_declaration": "enum", "record_declaration": "record",
            "annotation_type_declaration": "interface", "method_declaration": "method",
            "constructor_declaration": "method",
        },
    ),
    "c": _Grammar(
        "tree_sitter_c",
        {"function_definition": _FUNCTION, "struct_specifier": "struct", "enum_specifier": "enum",
         "union_specifier": "union", "type_definition": "type"},
        tolerant=True,
    ),
    "ruby": _Grammar(
        "tree_sitter_ruby",
        {"class": "class", "module": "module", "method": _FUNCTION, "singleton_method": _FUNCTION},
    ),
}  # fmt: skip
# Types of nodes that the further patterns look for, with a value that is a function.
_BY_VALUE = (
    "variable_declarator", "assignment_expression", "field_definition", "public_field_definition",
)  # fmt: skip


def main(request: bytes) -> None:
    """Print the symbols of one text."""
    language, _, text = request.partition(b"\n")
    found = outline(language.decode(), text)
    sys.stdout.write(json.dumps(None if found is None else [each._asdict() for each in found]))


def outline(language: str, text: bytes) -> list[_Symbol] | None:
    """Return the symbols of a text in their order; None where they cannot be parsed."""
    if language == "python":
        found = _outline_python(text)
        if found is not None:
            return found
    grammar = _GRAMMARS.get(language)
    try:
        return _parse_with_grammar(grammar, text) if grammar else None
    except (ImportError, AttributeError):  # it is not installed, or of another version
        return None


# -- Python --------------------------------------------------------------------------------------


def _outline_python(text: bytes) -> list[_Symbol] | None:
    warnings.simplefilter("ignore")  # of escapes in texts
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sorted(_list_in_body(module), key=lambda each: (each.start, -each.end))


def _list_in_body(module: ast.Module) -> Iterator[_Symbol]:
    pending: list[tuple[ast.stmt, tuple[str, ...], bool]] = [(s, (), False) for s in module.body]
    while pending:
        node, parents, in_class = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            is_class = isinstance(node, ast.ClassDef)
            kind = "class" if is_class else "method" if in_class else _FUNCTION
            yield _make_symbol(node, kind, parents)
            if len(parents) < _DEEPEST:
                pending += [(each, (*parents, node.name), is_class) for each in node.body]
        else:
            pending += [(each, parents, in_class) for each in _list_statements(node)]


def _make_symbol(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, kind: str, parents: tuple[str, ...]
) -> _Symbol:
    start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    head = max(node.lineno, node.body[0].lineno - 1)
    return _Symbol(node.name, kind, start, node.end_lineno or node.lineno, head, parents)


def _list_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements in a compound one that is no definition."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, part, ()):
            if isinstance(each, ast.stmt):
                yield each
            else:  # an exception's handler, or a case
                yield from each.body


# -- tree-sitter ---------------------------------------------------------------------------------


def _parse_with_grammar(grammar: _Grammar, text: bytes) -> list[_Symbol] | None:
    tree_sitter = import_module("tree_sitter")
    language = tree_sitter.Language(getattr(import_module(grammar.module), grammar.function)())
    root = tree_sitter.Parser(language).parse(text).root_node
    if root.has_error and not grammar.tolerant:
        return None
    types = [each for each in grammar.kinds if each not in _BY_VALUE]
    patterns = " ".join(f"({each}) @s" for each in types)
    query = tree_sitter.Query(language, f"{patterns} {grammar.more}")
    nodes = tree_sitter.QueryCursor(query).captures(root).get("s", [])
    found = list(_nest_nodes(grammar, [node for node in nodes if not node.has_error]))
    return None if root.has_error and not found else found


def _nest_nodes(grammar: _Grammar, nodes: list[Any]) -> Iterator[_Symbol]:
    """Yield nodes as symbols, each with the names of those that it lies in."""
    around: list[tuple[int, str, str]] = []
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        name = _find_name(node)
        # A node of C may only name a type that is defined elsewhere.
        is_bare = node.type.endswith("_specifier") and node.child_by_field_name("body") is None
        if not name or len(around) > _DEEPEST or is_bare:
            continue
        kind = _find_kind(node, grammar.kinds[node.type], around[-1][1] if around else "")
        parents = (*(each for _, _, each in around), *_find_receiver(node))
        start, end = _find_lines(node, grammar.wrappers)
        yield _Symbol(name, kind, start, end, _find_head(node), parents)
        around.append((node.end_byte, kind, name))


def _find_lines(node: Any, wrappers: tuple[str, ...]) -> tuple[int, int]:
    """Return the first and last line of a node with the nodes that wrap nothing else."""
    while node.parent is not None and node.parent.type in wrappers and _is_alone(node):
        node = node.parent
    return node.start_point.row + 1, node.end_point.row + (node.end_point.column > 0)


def _is_alone(node: Any) -> bool:
    return [each.type for each in node.parent.named_children].count(node.type) == 1


def _find_kind(node: Any, kind: str, around: str) -> str:
    """Return the kind of a node by that of the one around it, "" for none.

    A type of Go is a struct or an interface where it is one; a function of a type is a method.
    """
    in_module = around == "module" and node.type in ("method", "singleton_method")
    if kind == _FUNCTION and (around in _METHODS_IN or in_module):
        return "method"
    defined = node.child_by_field_name("type") if node.type == "type_spec" else None
    named = {"struct_type": "struct", "interface_type": "interface"}
    return named.get(defined.type, kind) if defined is not None else kind


def _find_name(node: Any) -> str:
    """Return the name of a node, "" for none."""
    fields = ("name", "property", "left", "declarator", "type")
    named = next(filter(None, map(node.child_by_field_name, fields)), None)
    for _ in range(_DEEPEST):
        inner = named and next(
            filter(None, map(named.child_by_field_name, ("declarator", "property", "type"))), None
        )
        if inner is None:
            break
        named = inner
    text = named.text.decode("utf-8", "replace") if named is not None else ""
    return " ".join(text.split())[:_LONGEST_NAME]


def _find_receiver(node: Any) -> Iterator[str]:
    """Yield the type that a method of Go belongs to."""
    pending = list(filter(None, [node.child_by_field_name("receiver")]))
    while pending:
        part = pending.pop(0)
        if part.type == "type_identifier":
            yield part.text.decode("utf-8", "replace")[:_LONGEST_NAME]
            return
        pending += part.named_children


def _find_head(node: Any) -> int:
    """Return the last line before a node's body."""
    inner = (node, *map(node.child_by_field_name, ("value", "right", "type")))
    bodies = (each.child_by_field_name("body") for each in inner if each is not None)
    body = next(filter(None, bodies), None)
    if body is None:
        return int(node.start_point.row) + 1
    row = int(body.start_point.row)
    opens = body.text[:1] == b"{" or row == node.start_point.row
    return row + int(opens)


if __name__ == "__main__":
    main(sys.stdin.buffer.read())
