"""The modules of both packages as files: for the tests that read what is written in them."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"irdaemon": ROOT / "irdaemon", "irclient": ROOT / "client" / "irclient"}


def modules(package: str) -> Iterator[tuple[Path, str]]:
    """Yield the path and the name below its package of every module; "" is the package itself."""
    top = PACKAGES[package]
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top).with_suffix("").parts
        yield path, ".".join(part for part in parts if part != "__init__")


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Yield every dotted name that a file imports, what is taken from a module included."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
