"""Find the names that a package of npm exports: from its package.json and its declarations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from irdaemon.source.dependencies.found import EXPORTS_BYTES, MOST_EXPORTS, read_beginning
from irdaemon.source.packages.manifest import as_table, clean_text

_MOST_KEYS = 100
# In so many files names are looked for.
_MOST_FILES = 8
_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")
_KEY = re.compile(r"\./[\w.~@/-]{1,100}\Z", re.ASCII)
_DECLARED = re.compile(
    r"^[ \t]*export[ \t]+(?:declare[ \t]+)?(?:default[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?"
    r"(?:function|const[ \t]+enum|const|let|var|class|interface|type|enum|namespace)"
    r"[ \t]+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_LISTED = re.compile(r"^[ \t]*export[ \t]+(?:type[ \t]+)?\{([^{}]*)\}", re.MULTILINE)
_STARRED = re.compile(
    r"""^[ \t]*export[ \t]+(?:type[ \t]+)?\*[ \t]+from[ \t]+["'](\.[^"'\n]{1,200})["']""",
    re.MULTILINE,
)
# `export = name`, and what a namespace of that name declares.
_WHOLE = re.compile(r"^[ \t]*export[ \t]*=[ \t]*([A-Za-z_$][\w$]*)", re.MULTILINE)
_IN_NAMESPACE = re.compile(
    r"^[ \t]{1,8}(?:export[ \t]+)?(?:function|const|class|interface|type)[ \t]+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{0,99}\Z")
_SCRIPT = re.compile(r"\.[cm]?js\Z")


def list_declared(directory: str, content: Mapping[str, object]) -> list[str]:
    """Return the paths that a package.json exports, and the names in its declarations, each once.

    `directory` is a real path; nothing outside of it is opened.
    """
    found: dict[str, None] = {}
    name = clean_text(content.get("name"))
    for key in list(as_table(content.get("exports")))[:_MOST_KEYS]:
        if _KEY.match(key) and not key.endswith(".json"):
            found[f"{name}/{key[2:]}"] = None
    for each in _list_names(directory, _choose_declarations(content)):
        found[each] = None
        if len(found) >= MOST_EXPORTS:
            break
    return list(found)


def _choose_declarations(content: Mapping[str, object]) -> list[str]:
    """Return the files that may have the declarations of a package's own entry, best first."""
    stated = [content.get("types"), content.get("typings")]
    stated += _list_types(as_table(content.get("exports")).get("."), 4)
    named = [each for each in stated if isinstance(each, str)]
    return [*named[:_MOST_FILES], "index.d.ts"]


def _list_types(value: object, depth: int) -> Iterator[object]:
    """Yield the `types` among the conditions of an export."""
    for key, held in as_table(value).items():
        if key.startswith("types"):
            yield held
        if depth:
            yield from _list_types(held, depth - 1)


def _list_names(directory: str, files: list[str]) -> Iterator[str]:
    """Yield the names that the first of `files` which is there exports, and those of its modules.

    A module that is exported whole is read, or, of many, gives its own name.
    """
    left = EXPORTS_BYTES
    first = next((read for each in files if (read := _read(directory, each, left))), None)
    pending = [first] if first else []
    seen = {path for path, _ in pending}
    while pending:
        path, source = pending.pop(0)
        yield from _list_declared_names(source)
        left -= len(source)
        for target in _STARRED.findall(source):
            module = os.path.join(os.path.dirname(path), target)
            read = None
            if left > 0 and len(seen) < _MOST_FILES:
                read = _read_module(directory, module, left)
            if read is None:
                yield from _keep_names([_SCRIPT.sub("", os.path.basename(module))])
            elif read[0] not in seen:
                seen.add(read[0])
                pending.append(read)


def _read_module(directory: str, path: str, limit: int) -> tuple[str, str] | None:
    """Read what a path in `export * from` means: a file without or with another suffix."""
    stem = _SCRIPT.sub("", path)
    tries = [stem + suffix for suffix in _SUFFIXES] + [os.path.join(stem, "index.d.ts")]
    return next((read for each in tries if (read := _read(directory, each, limit))), None)


def _read(directory: str, name: str, limit: int) -> tuple[str, str] | None:
    """Return the path and the beginning of a file of declarations in the directory."""
    path = os.path.normpath(os.path.join(directory, name))
    text = read_beginning(path, directory, limit) if path.endswith(_SUFFIXES) else ""
    return (path, text) if text else None


def _list_declared_names(source: str) -> Iterator[str]:
    yield from _keep_names(_DECLARED.findall(source))
    for names in _LISTED.findall(source):
        told = (each.split() for each in names.split(","))
        yield from _keep_names(words[-1] for words in told if words)
    if whole := _WHOLE.findall(source):
        yield from _keep_names(whole[:1])
        yield from _keep_names(_IN_NAMESPACE.findall(source))


def _keep_names(names: Iterable[str]) -> Iterator[str]:
    yield from (name for name in names if name != "default" and _IDENTIFIER.match(name))
