"""The knowledge pack: expected prompts that ship, for what many people have.

Its source is `pack/*.jsonl`, which `python pack/build.py` checks and packs. An entry is of a kind
and a name: a package of a registry, a skill, the tools of an MCP server. It is used while what is
read still resembles what it was written for: names of skills are anybody's, those of a registry are
not.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from irdaemon.text import tokenize

PACK = Path(__file__).with_name("pack.bin")
# The kinds of corpora that it has prompts for.
PACKED = ("skills", "packages", "dependencies", "mcp_tools")
REGISTRIES = ("npm", "pypi", "cargo", "go")
SKILL, SERVER = "skill", "mcp"
# Shares of the words of what an entry was written about that its item has to have. Of 356 skills
# each had two thirds of its own entry's, and one in a hundred of another's 40%.
_LEAST_OF_SKILL, _LEAST_OF_REGISTERED = 0.4, 0.15
_READ_CHARS = 4_000


class PackEntry(NamedTuple):
    """An item of the pack: a sentence about it, and its prompts."""

    about: str
    prompts: tuple[str, ...]


def find_packed(
    corpus_kind: str, name: str, fields: Mapping[str, Any], text: str
) -> tuple[str, ...]:
    """Return the prompts that the pack has of an artifact, none where it has none that fit.

    `text` is its searchable text.
    """
    kind, name = _identify(corpus_kind, name, fields)
    entry = find_entry(kind, name) if kind else None
    if entry is None or not _resembles(entry.about, f"{name} {text}", kind):
        return ()
    return entry.prompts


def _identify(corpus_kind: str, name: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    if corpus_kind == "skills":
        return SKILL, name
    if corpus_kind == "mcp_tools":
        return SERVER, str(fields.get("server") or "")
    ecosystem = fields.get("ecosystem")
    if corpus_kind in ("packages", "dependencies") and ecosystem in REGISTRIES:
        return str(ecosystem), name
    return "", ""


def find_entry(kind: str, name: str) -> PackEntry | None:
    """Return the entry of an item by its kind and name."""
    packed = _load().get(f"{kind}/{canonicalize(kind, name)}")
    return None if packed is None else PackEntry(*msgpack.unpackb(packed, use_list=False))


def canonicalize(kind: str, name: str) -> str:
    """Return a name as its registry compares it."""
    if kind == "pypi":
        return re.sub(r"[-_.]+", "-", name).lower()
    return name.replace("_", "-") if kind == "cargo" else name.lower()


def _resembles(about: str, text: str, kind: str) -> bool:
    wanted = set(tokenize(about))
    least = _LEAST_OF_REGISTERED if kind in REGISTRIES else _LEAST_OF_SKILL
    if kind == SERVER:  # a tool is one of many things that its server does
        return bool(wanted & set(tokenize(text[:_READ_CHARS])))
    return len(wanted & set(tokenize(text[:_READ_CHARS]))) >= least * len(wanted)


@cache
def _load() -> Mapping[str, bytes]:
    """Return the entries by "KIND/NAME", each packed."""
    unpacked: dict[str, bytes] = msgpack.unpackb(zlib.decompress(PACK.read_bytes()))
    return unpacked


@cache
def read_digest() -> str:
    """Return what tells one pack from another."""
    return f"{zlib.crc32(PACK.read_bytes()):08x}"
