"""Read the versions that the locks of Python's tools have settled on.

uv, Poetry, PDM and PEP 751 write one `[[package]]` after the other. Only names and versions are
wanted of files of several megabytes, and of one that is cut in the middle what comes before that:
so these are searched, and only the last block is parsed, which shows whether it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from irdaemon.source.dependencies.requirements import choose_newest, is_python_name, normalize_name
from irdaemon.source.packages.manifest import as_table, parse_json, parse_toml
from irdaemon.types import SourceError

# In the order in which they are asked.
LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_BLOCK = re.compile(r"^\[\[packages?\]\][ \t]*$", re.MULTILINE)
_NEXT_TABLE = re.compile(r"^\[", re.MULTILINE)
_NAME = re.compile(r"""^name[ \t]*=[ \t]*["']([^"'\n]+)["']""", re.MULTILINE)
# Poetry's of before 2023 ended with the digests of all files.
_MOST_PARSED = 256 * 1024
_VERSION = re.compile(r"""^version[ \t]*=[ \t]*["']([^"'\n]+)["']""", re.MULTILINE)


def parse_lock(source: str, path: str) -> tuple[dict[str, str], str]:
    """Return versions by normalised name, and what is wrong with the lock, "" for nothing.

    Of a package that is locked in several versions it is the highest.
    """
    if path.endswith(".json") or path.endswith("Pipfile.lock"):
        try:
            pairs, problem = list(_list_pipfile_versions(source, path)), ""
        except SourceError as error:
            pairs, problem = [], error.message.removeprefix(f"{path}: ")
    else:
        pairs, problem = _search_blocks(source, path)
    found: dict[str, list[str]] = {}
    for name, version in pairs:
        if is_python_name(name) and version.isprintable():
            found.setdefault(normalize_name(name), []).append(version)
    return {name: choose_newest(versions) for name, versions in found.items()}, problem


def _list_pipfile_versions(source: str, path: str) -> Iterator[tuple[str, str]]:
    content = parse_json(source, path)
    for section in ("default", "develop"):
        for name, spec in as_table(content.get(section)).items():
            version = as_table(spec).get("version")
            yield name, version.lstrip("=") if isinstance(version, str) else ""


def _search_blocks(source: str, path: str) -> tuple[list[tuple[str, str]], str]:
    starts = [match.end() for match in _BLOCK.finditer(source)]
    pairs: list[tuple[str, str]] = []
    for start, end in pairwise([*starts, len(source)]):
        after = _NEXT_TABLE.search(source, start, end)
        stop = after.start() if after else end
        name, version = (each.search(source, start, stop) for each in (_NAME, _VERSION))
        if name:
            pairs.append((name[1], version[1] if version else ""))
    last = source[starts[-1] :] if starts else source
    if len(last) > _MOST_PARSED:
        return pairs, "" if starts else "it lists no package"
    try:
        parse_toml(last, path)
    except SourceError:
        return pairs, "it ends in the middle, or is not valid TOML; what comes before that counts"
    return pairs, ""
