"""The knowledge pack: expected prompts that ship, for what many people have.

Its source is `pack/*.jsonl`, which `python pack/build.py` checks and packs. An entry is of a kind
and a name: a package of a registry, a skill, the tools of an MCP server. It is used while what is
read still resembles what it was written for: names of skills are anybody's, those of a registry are
not.

The file consists of compressed blocks of a few entries, an index, and the size of the index in 4
bytes. A reader process looks up many names and finds few of them: it keeps the index, 55 kB, and
reads one block for each name that it finds.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from irdaemon.text import tokenize
from irdaemon.types import Artifact

PACK = Path(__file__).with_name("pack.bin")
# The kinds of corpora that it has prompts for.
PACKED = ("skills", "packages", "dependencies", "mcp_tools")
# Array types of the index' columns, and the bytes of its size. No numpy: every command loads this.
HASHES, BLOCKS, OFFSETS, SIZE = "Q", "H", "I", 4
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
    corpus_kind: str, artifact: Artifact, fields: Mapping[str, Any], text: str
) -> tuple[str, ...]:
    """Return the prompts that the pack has of an artifact, none where it has none that fit.

    `text` is its searchable text.
    """
    kind, names = _identify(corpus_kind, artifact, fields)
    for name in {make_key(kind, name): name for name in names}.values():
        entry = find_entry(kind, name)
        if entry is not None and _resembles(entry.about, f"{name} {text}", kind):
            return entry.prompts
    return ()


def _identify(
    corpus_kind: str, artifact: Artifact, fields: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]]:
    """Return the kind of an artifact's entry and the names that it may have there."""
    if corpus_kind == "skills":  # a skill may be called otherwise than its directory
        return SKILL, (artifact.name, os.path.basename(os.path.dirname(artifact.pointer)))
    if corpus_kind == "mcp_tools":
        return SERVER, (str(fields.get("server") or ""),)
    ecosystem = fields.get("ecosystem")
    if corpus_kind in ("packages", "dependencies") and ecosystem in REGISTRIES:
        return str(ecosystem), (artifact.name,)
    return "", ()


def find_entry(kind: str, name: str) -> PackEntry | None:
    """Return the entry of an item by its kind and name."""
    index, key = _read_index(), make_key(kind, name)
    wanted = hash_key(key)
    place = bisect_left(index.hashes, wanted)
    if place == len(index.hashes) or index.hashes[place] != wanted:
        return None
    start, end = index.offsets[index.blocks[place] : index.blocks[place] + 2]
    packed = os.pread(index.file, end - start, start)
    block = msgpack.unpackb(zlib.decompress(packed), use_list=False)
    return PackEntry(*block[key]) if key in block else None


def make_key(kind: str, name: str) -> str:
    """Return the key of an item in the pack."""
    return f"{kind}/{canonicalize(kind, name)}"


def hash_key(key: str) -> int:
    """Return the 64-bit hash by which a key is found."""
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def canonicalize(kind: str, name: str) -> str:
    """Return a name as its registry compares it; of a skill as its directory is named."""
    if kind == SKILL:
        return re.sub(r"[\s_]+", "-", name.strip()).lower()
    if kind == "pypi":
        return re.sub(r"[-_.]+", "-", name).lower()
    return name.replace("_", "-") if kind == "cargo" else name.lower()


def _resembles(about: str, text: str, kind: str) -> bool:
    wanted = set(tokenize(about))
    least = _LEAST_OF_REGISTERED if kind in REGISTRIES else _LEAST_OF_SKILL
    if kind == SERVER:  # a tool is one of many things that its server does
        return bool(wanted & set(tokenize(text[:_READ_CHARS])))
    return len(wanted & set(tokenize(text[:_READ_CHARS]))) >= least * len(wanted)


class PackIndex(NamedTuple):
    """The identity of a pack, and the places of its entries.

    `file` is its descriptor: an upgrade replaces the file under a running process. `hashes` are
    those of all keys, ascending, `blocks` the numbers of their blocks, and `offsets` the beginning
    of each block in the file and the end of the last.
    """

    file: int
    digest: str
    hashes: array[int]
    blocks: array[int]
    offsets: array[int]


@cache
def _read_index() -> PackIndex:
    file = os.open(PACK, os.O_RDONLY | os.O_CLOEXEC)
    end = os.fstat(file).st_size - SIZE
    size = int.from_bytes(os.pread(file, SIZE, end), "little")
    digest, hashes, blocks, offsets = msgpack.unpackb(os.pread(file, size, end - size))
    return PackIndex(
        file,
        digest,
        _read_column(HASHES, hashes),
        _read_column(BLOCKS, blocks),
        _read_column(OFFSETS, offsets),
    )


def _read_column(kind: str, data: bytes) -> array[int]:
    """Return a column of little-endian numbers."""
    column = array(kind, data)
    if sys.byteorder == "big":
        column.byteswap()
    return column


def read_digest() -> str:
    """Return what tells one pack from another."""
    return _read_index().digest
