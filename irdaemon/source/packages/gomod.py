"""Read go.mod, and the package comment in doc.go beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from irdaemon.source.packages.manifest import (
    Manifest,
    clean_text,
    clean_texts,
    make_error,
    read_text,
    write_dependency,
)
from irdaemon.types import SourceError


@dataclass(frozen=True, slots=True)
class Directive:
    """One go.mod line: `require golang.org/x/text v0.3.0 // indirect`."""

    verb: str
    arguments: tuple[str, ...]
    comment: str


def load(directory: str) -> Manifest:
    """Read the module in `directory`; its versions are git tags, so it has none here."""
    path = os.path.join(directory, "go.mod")
    manifest = describe_module(read_text(path), path)
    return replace(manifest, description=_read_comment(os.path.join(directory, "doc.go")))


def describe_module(source: str, path: str) -> Manifest:
    """Return what the text of a go.mod says of its module. Raises SourceError without a name."""
    directives = tuple(list_directives(source))
    name = next((d.arguments[0] for d in directives if d.verb == "module" and d.arguments), "")
    if not name:
        raise make_error(path, "no module line")
    required = [
        (
            write_dependency(d.arguments[0], " ".join(d.arguments[1:])),
            d.comment.partition(";")[0].strip() == "indirect",
        )
        for d in directives
        if d.verb == "require" and d.arguments
    ]
    return Manifest(
        name=name,
        owner=_find_owner(name),
        repository=_find_repository(name),
        deps=clean_texts([each for each, indirect in required if not indirect]),
        indirect_deps=clean_texts([each for each, indirect in required if indirect]),
    )


def list_directives(source: str) -> Iterator[Directive]:
    """Yield the lines of a go.mod or go.work, those in blocks with their verb."""
    block = ""
    for line in source.splitlines():
        code, _, comment = line.partition("//")
        words = tuple(word.strip('"`') for word in clean_text(code).split())
        if words == (")",):
            block = ""
        elif words[1:] == ("(",):
            block = words[0]
        elif words and block:
            yield Directive(block, words, comment)
        elif words:
            yield Directive(words[0], words[1:], comment)


def _find_owner(module: str) -> str:
    host, *rest = module.split("/")
    return rest[0] if "." in host and len(rest) > 1 else ""


def _find_repository(module: str) -> str:
    parts = module.split("/")
    known = parts[0] in ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org")
    return "https://" + "/".join(parts[:3]) if known and len(parts) > 2 else ""


def _read_comment(path: str) -> str:
    try:
        return find_package_comment(read_text(path))
    except (FileNotFoundError, SourceError):
        return ""


def find_package_comment(source: str) -> str:
    """Return the first paragraph of the comment right above the package clause."""
    comment: list[str] = []
    for line in _flatten_comments(source.splitlines()):
        if line.startswith("package "):
            break
        if not line.startswith("//"):
            comment.clear()
        else:
            comment.append(line)
    return _join_paragraph([line.removeprefix("//").strip() for line in comment])


def _flatten_comments(lines: list[str]) -> Iterator[str]:
    """Write block comments as line comments, and leave build constraints out."""
    inside = False
    for line in lines:
        opened = inside or line.lstrip().startswith("/*")
        inside = opened and "*/" not in line
        if opened:
            yield "//" + line.replace("/*", "").replace("*/", "")
        elif not line.startswith(("//go:", "// +build")):
            yield line


def _join_paragraph(lines: list[str]) -> str:
    paragraph: list[str] = []
    for line in lines:
        if not line and paragraph:
            break
        paragraph += [line] if line else []
    return clean_text(" ".join(paragraph))
