"""Write the types of the operations as coroutines: the methods of `Operations`, with `async`.

python -m tests.golden.coroutines
"""

import ast

from tests.support.modules import PACKAGES

METHODS = PACKAGES["irclient"] / "ops" / "__init__.py"
STUB = METHODS.with_name("coroutines.pyi")
HEAD = "# Made of `Operations` by `python -m tests.golden.coroutines`.\n"


def stub():
    """Return the text of the stub."""
    tree = ast.parse(METHODS.read_text("utf-8"))
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    (operations,) = (n for n in tree.body if getattr(n, "name", "") == "Operations")
    methods = [each for each in operations.body if hasattr(each, "args") and each.name[0] != "_"]
    of_types = ("collections.abc", "typing")
    plain = [node for node in tree.body if getattr(node, "module", "") in of_types]
    imports = [*plain, *(node for node in guard.body if isinstance(node, ast.ImportFrom))]
    bare = {"body": dots(), "decorator_list": []}
    declared = [ast.AsyncFunctionDef(**{**vars(each), **bare}) for each in methods]
    made = ast.ClassDef("Coroutines", [], [], declared, [])
    module = ast.Module([*imports, made], [])
    return HEAD + ast.unparse(ast.fix_missing_locations(module)) + "\n"


def dots():
    return [ast.Expr(ast.Constant(...))]


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
