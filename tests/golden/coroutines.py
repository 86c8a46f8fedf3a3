"""Write the types of the operations as coroutines: the methods of `Operations`, with `async`.

python -m tests.golden.coroutines
"""

import ast

from tests.support.modules import PACKAGES

METHODS = PACKAGES["irclient"] / "ops" / "methods.py"
STUB = METHODS.with_name("coroutines.pyi")
HEAD = "# Made of methods.py by `python -m tests.golden.coroutines`.\n"


def stub():
    """Return the text of the stub."""
    tree = ast.parse(METHODS.read_text("utf-8"))
    (guard,) = (node for node in tree.body if isinstance(node, ast.If))
    (operations,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    methods = [node for node in operations.body if isinstance(node, ast.FunctionDef)]

    declared = [ast.AsyncFunctionDef(**{**vars(each), "body": dots()}) for each in methods]
    made = ast.ClassDef("Coroutines", [], [], declared, [])
    module = ast.Module([*guard.body, made], [])
    return HEAD + ast.unparse(ast.fix_missing_locations(module)) + "\n"


def dots():
    return [ast.Expr(ast.Constant(...))]


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
