"""Find a package's README, and its first paragraph."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from irdaemon.source.markdown import make_parser
from irdaemon.source.opening import follow_link, has_same_name, read_regular
from irdaemon.source.packages.manifest import clean_prose, clean_text
from irdaemon.source.tree import is_regular
from irdaemon.types import Refused, SourceError

if TYPE_CHECKING:
    from markdown_it.token import Token

README_LIMIT = 4 * 1024 * 1024
README_CHARS = 20_000
_PREFERRED = ("readme.md", "readme.rst", "readme.txt", "readme")
_OPENING_CHARS = 4_000
_PARAGRAPH_CHARS = 500


@dataclass(frozen=True, slots=True)
class Readme:
    """A README's opening 20,000 characters, and the SHA-256 of all its bytes."""

    text: str = ""
    digest: str = ""
    flags: tuple[str, ...] = ()


def is_readme(name: str) -> bool:
    """Return whether a file name is one of a README, in any case."""
    return name.lower() in _PREFERRED


def choose_readme(names: Iterable[str]) -> str:
    """Return the README to read among file names: Markdown, then reST, then plain; or ""."""
    found = sorted(filter(is_readme, names), key=lambda n: (_PREFERRED.index(n.lower()), n))
    return found[0] if found else ""


def read_readme(directory: str, *, by_name: bool = True) -> Readme:
    """Read the README in `directory`; flag one that cannot be read `unreadable_readme`.

    `by_name` is whether it may be a link to a file of its name elsewhere.
    """
    try:
        with os.scandir(directory) as entries:
            named = [each for each in entries if is_readme(each.name)]
        name = choose_readme(each.name for each in named if _is_own(each, by_name))
        path = follow_link(os.path.join(directory, name), by_name=by_name) if name else ""
        data = read_regular(path, README_LIMIT) if name else b""
    except FileNotFoundError:
        return Readme()
    except (OSError, SourceError):
        return Readme(flags=("unreadable_readme",))
    opening = clean_prose(data.decode("utf-8-sig", "replace"))[:README_CHARS]
    return Readme(opening, hash_bytes(data) if name else "")


def _is_own(entry: os.DirEntry[str], by_name: bool) -> bool:
    """Return whether a file is the package's own, or a link to one of its name in the package.

    With `by_name` that one may lie elsewhere.
    """
    try:
        real = follow_link(entry.path, by_name=by_name)
        return is_regular(entry) and (by_name or has_same_name(entry.path, real))
    except Refused:
        return False


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def find_prose(readme: str) -> str:
    """Return the first paragraph of prose: not a heading, badge, image, directive or HTML."""
    tokens = make_parser().parse(readme[:_OPENING_CHARS])
    for paragraph in _list_paragraphs(tokens):
        if not paragraph.startswith("..") and any(c.isalpha() for c in paragraph):
            return paragraph[:_PARAGRAPH_CHARS]
    return ""


def _list_paragraphs(tokens: list[Token]) -> Iterator[str]:
    for before, inline in pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0:
            yield clean_text("".join(_list_words(inline.children or [])))


def _list_words(children: list[Token]) -> Iterator[str]:
    for child in children:
        if child.type in ("text", "code_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield " "
