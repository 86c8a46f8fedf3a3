"""Check the source of the knowledge pack and pack it.

A line of pack/KIND.jsonl is {"kind", "name", "about", "prompts": six in English, "de", "es"}.
Prints what is wrong, by file and line, and packs nothing then; else writes
irdaemon/source/pack.bin, the same for the same lines.

    python pack/build.py [--check]
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from array import array
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgpack

from irdaemon.source.pack import (
    BLOCKS,
    HASHES,
    OFFSETS,
    PACK,
    REGISTRIES,
    SERVER,
    SIZE,
    SKILL,
    hash_key,
    make_key,
)
from irdaemon.source.redact import Redactor

ROOT = Path(__file__).parents[1]
KINDS = (*REGISTRIES, SKILL, SERVER)
KEYS = ("kind", "name", "about", "prompts", "de", "es")
_PROMPTS = 6
_CHARS = (8, 300)
_ABOUT_WORDS = (6, 30)
_MARKUP = re.compile(r"https?://|```|</?[a-z]+[ />]|[\x00-\x1f\x7f]")
# Entries of a block: with more the file is smaller, and finding an entry takes longer.
_TOGETHER = 16
# A name so short is a word of the language.
_SHORT = 3


def read_lines() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every line of the source with where it is."""
    for path in sorted((ROOT / "pack").glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            where = f"{path.relative_to(ROOT)}:{number}"
            try:
                yield where, json.loads(line)
            except ValueError as error:
                yield where, {"error": f"not JSON: {error}"}


def find_problems(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with one entry."""
    if tuple(entry) != KEYS:
        yield f"its keys are {', '.join(entry)}, not {', '.join(KEYS)}"
        return
    if entry["kind"] not in KINDS:
        yield f"its kind is {entry['kind']!r}, not one of {', '.join(KINDS)}"
        return
    words = len(entry["about"].split())
    if not _ABOUT_WORDS[0] <= words <= _ABOUT_WORDS[1]:
        yield f"`about` has {words} words"
    if len(set(entry["prompts"])) != _PROMPTS:
        yield f"it has {len(set(entry['prompts']))} prompts, not {_PROMPTS}"
    named = make_name_pattern(entry["kind"], entry["name"])
    for prompt in (*entry["prompts"], entry["de"], entry["es"]):
        if not _CHARS[0] <= len(prompt) <= _CHARS[1]:
            yield f"a prompt of {len(prompt)} characters: {prompt[:40]!r}"
        if _MARKUP.search(prompt):
            yield f"markup, a URL or a control character: {prompt[:60]!r}"
        if named and named.search(prompt):
            yield f"it is named: {prompt[:60]!r}"
        if Redactor("all").redact_text(prompt) != prompt:
            yield f"what looks like a secret or a person: {prompt[:60]!r}"


def make_name_pattern(kind: str, name: str) -> re.Pattern[str] | None:
    """Return what finds the name of an item in a prompt, None for one that is a common word."""
    last = name.lower().rstrip("/").rpartition("/")[2]
    forms = {last, re.sub(r"[-_.]", " ", last), re.sub(r"[-_.]", "", last)}
    told = [re.escape(form) for form in forms if kind in REGISTRIES or len(form) > _SHORT]
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(told)})(?![a-z0-9])", re.I) if told else None


def pack_entries(entries: dict[str, tuple[str, list[str]]]) -> bytes:
    """Return the pack's file: see irdaemon/source/pack.py."""
    keys = sorted(entries)
    parts = [keys[at : at + _TOGETHER] for at in range(0, len(keys), _TOGETHER)]
    blocks = [zlib.compress(msgpack.packb({k: entries[k] for k in part}), 9) for part in parts]
    hashes = sorted((hash_key(key), at // _TOGETHER) for at, key in enumerate(keys))
    columns = (
        array(HASHES, [each for each, _ in hashes]),
        array(BLOCKS, [block for _, block in hashes]),
        array(OFFSETS, accumulate(map(len, blocks), initial=0)),
    )
    digest = f"{zlib.crc32(b''.join(blocks)):08x}"
    index = msgpack.packb([digest, *map(write_column, columns)])
    return b"".join([*blocks, index, len(index).to_bytes(SIZE, "little")])


def write_column(column: array[int]) -> bytes:
    """Return a column as little-endian numbers."""
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def main() -> int:
    """Check every line, and pack them unless only that is wanted."""
    problems, packed = 0, dict[str, tuple[str, list[str]]]()
    for where, entry in read_lines():
        wrong = [entry["error"]] if "error" in entry else list(find_problems(entry))
        if not wrong:
            key = make_key(entry["kind"], entry["name"])
            prompts = [*entry["prompts"], entry["de"], entry["es"]]
            wrong = [f"{key} is there twice"] if key in packed else []
            packed[key] = entry["about"], prompts
        for each in wrong:
            print(f"{where}: {each}")
        problems += len(wrong)
    if problems or "--check" in sys.argv:
        return int(bool(problems))
    PACK.write_bytes(pack_entries(packed))
    print(f"{len(packed):,} entries, {PACK.stat().st_size / 1e3:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
