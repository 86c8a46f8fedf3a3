"""What a package imports it also requires, in its dependencies or in one of its extras."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = {"irdaemon", "irclient"}


def imported(package: Path):
    """Yield the first word of everything that is imported in a package, and by which file."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((alias.name.split(".")[0], path) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0], path


def declared(project: Path) -> set[str]:
    """Return the distributions that a project names, extras included."""
    stated = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    extras = stated["optional-dependencies"].values()
    every = [*stated["dependencies"], *(each for extra in extras for each in extra)]
    return {canonicalize_name(Requirement(each).name) for each in every}


@pytest.mark.parametrize("package", ["irdaemon", "client/irclient"])
def test_what_is_imported_is_declared(package):
    owners = metadata.packages_distributions()
    known = declared((ROOT / package).parent)
    for name, path in imported(ROOT / package):
        if name in sys.stdlib_module_names or name in OURS:
            continue
        distributions = {canonicalize_name(each) for each in owners.get(name, [name])}
        assert distributions & known, f"{path.relative_to(ROOT)} imports {name}"


# Neither is on an index: a package of that name there would be another project.
BARE = re.compile(r"""(?:pip|pip3|pipx|uv tool) install (?:-\S+ )*['"]?(?:irdaemon|irclient)\b""")


def test_nothing_says_to_install_a_package_of_ours_by_its_name_alone():
    pages = [ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").glob("*.md")]
    sources = [*(ROOT / "irdaemon").rglob("*.py"), *(ROOT / "client").rglob("*.py")]
    for path in (*pages, *(ROOT / "client").glob("*.md"), *(ROOT / "plugin").rglob("*"), *sources):
        said = BARE.search(path.read_text("utf-8")) if path.is_file() else None
        assert not said, f"{path.relative_to(ROOT)}: {said[0]}"
