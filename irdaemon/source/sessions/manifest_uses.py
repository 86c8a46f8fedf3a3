"""Tell which packages an edit added to a manifest: what its new lines name and its old ones do not.

A manifest that is written whole says nothing of what it held before, so it adds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irdaemon.types import ItemUse

_FILE = re.compile(r"\*\*\* (?:Update|Add) File: (.+)")
_VERSION = r"[\^~=<>v\d*]"
_REQUIREMENT = re.compile(r"""["']?([A-Za-z0-9][\w.-]*)(?:\[[\w,.\s-]*\])?\s*([<>=!~;@"',]|$)""")
_POETRY = re.compile(rf"""([A-Za-z0-9][\w.-]*)\s*=\s*(?:["']{_VERSION}|\{{)""")
_PACKAGE_JSON = re.compile(
    rf'"((?:@[\w.-]+/)?[\w.-]+)"\s*:\s*"(?:{_VERSION}|workspace:|latest|next|file:|link:|npm:|git)'
)
_GO = re.compile(r"(?:require\s+)?([\w.-]+\.[\w.-]+(?:/[\w.~-]+)+)\s+v\d")
# Longer lines name no module: looking for one takes time with the cube of a line's length.
_LONGEST_MODULE = 300
# Keys of manifests with values that look like versions.
_NO_PACKAGES = frozenset(
    """version python requires-python edition rust-version node npm pnpm yarn name license authors
    readme description manifest_version packageManager target-version engines typescript-version
    """.split()
)
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)\Z")


def is_manifest(path: str) -> bool:
    """Return whether a path is that of a manifest whose packages are known."""
    return bool(_ecosystem(path))


def added_to_manifest(path: str, old: str, new: str) -> Iterator[ItemUse]:
    """Yield the packages that an edit of a manifest added."""
    ecosystem = _ecosystem(path)
    before = set(_packages(path, old))
    for name in dict.fromkeys(_packages(path, new)):
        if name not in before:
            yield ItemUse("package", f"{ecosystem}:{name}")


def added_by_patch(patch: str) -> Iterator[ItemUse]:
    """Yield the packages that a patch in the form of Codex' apply_patch added to manifests."""
    path, old, new = "", list[str](), list[str]()
    for line in [*patch.splitlines(), "*** End of File: "]:
        if line.startswith("*** "):
            if _ecosystem(path):
                yield from added_to_manifest(path, "\n".join(old), "\n".join(new))
            found = _FILE.match(line)
            path, old, new = found[1].strip() if found else "", [], []
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            old.append(line[1:])


def _ecosystem(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    return _KNOWN.get(name, "pypi" if _REQUIREMENTS.match(name) else "")


_KNOWN: Mapping[str, str] = {
    "pyproject.toml": "pypi",
    "package.json": "npm",
    "Cargo.toml": "cargo",
    "go.mod": "go",
}


def _packages(path: str, text: str) -> Iterator[str]:
    """Yield the packages named in lines of a manifest."""
    name = path.replace("\\", "/").rpartition("/")[2]
    for line in text.splitlines():
        yield from (each for each in _in_line(name, line.strip()) if each not in _NO_PACKAGES)


def _in_line(manifest: str, line: str) -> Iterator[str]:
    if manifest == "package.json":
        yield from _PACKAGE_JSON.findall(line)
    elif manifest == "go.mod":
        yield from _GO.findall(line[:_LONGEST_MODULE])
    elif manifest == "Cargo.toml":
        yield from (found[1] for found in [_POETRY.match(line)] if found)
    elif manifest == "pyproject.toml":
        yield from _in_pyproject(line)
    elif line and not line.startswith(("#", "-")):
        yield from (found[1] for found in [_REQUIREMENT.match(line)] if found)


def _in_pyproject(line: str) -> Iterator[str]:
    """Yield requirements in quotes, which stand in lists, and packages as Poetry has them."""
    if found := _POETRY.match(line):
        yield found[1]
    elif line.startswith(('"', "'")):
        yield from (each[1] for each in [_REQUIREMENT.match(line)] if each)
    elif "= [" in line or "=[" in line:
        for quoted in re.findall(r"""["']([^"']+)["']""", line.partition("[")[2]):
            yield from (each[1] for each in [_REQUIREMENT.match(quoted)] if each)
