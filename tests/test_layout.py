"""The tests stand where one looks for them, and share through tests/support and conftest.py."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent


def imports(path):
    """Yield every dotted name that a file imports, what is taken from a module included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def below_tests(path):
    return path.relative_to(TESTS).as_posix()


def test_no_test_imports_from_a_module_of_tests():
    for path in TESTS.rglob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            taken = parts[0] == "tests" and any(part.startswith("test_") for part in parts)
            room = parts[:2] in (["tests", "unit"], ["tests", "integration"], ["tests", "e2e"])
            where = f"{below_tests(path)} imports {name}: what tests share belongs to tests/support"
            assert not taken, where
            assert not room, where
