"""The modules of both packages as files: for the tests that read what is written in them."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"irdaemon": ROOT / "irdaemon", "irclient": ROOT / "client" / "irclient"}


@cache
def modules(package: str) -> tuple[tuple[Path, str], ...]:
    """Return the path and the name below its package of every module; "" is the package itself."""
    top = PACKAGES[package]

    def name(path: Path) -> str:
        parts = path.relative_to(top).with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")

    return tuple((path, name(path)) for path in sorted(top.rglob("*.py")))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return every dotted name that a file imports, what is taken from a module included."""
    names: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)
