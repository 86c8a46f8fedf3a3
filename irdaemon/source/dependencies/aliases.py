"""Add what people type for the things that a package is about: `yml` where it says YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_TABLE = "aliases.txt"
_WORD = re.compile(r"[a-z0-9]+")
_MOST_CHARS = 3_000


def list_aliases(texts: Iterable[str]) -> list[str]:
    """Return other words for what texts name, each once; none that they hold themselves."""
    words = _WORD.findall(" ".join(texts)[:_MOST_CHARS].lower())
    told, held = f" {' '.join(words)} ", set(words)
    found = (aliases for thing, aliases in load_aliases().items() if f" {thing} " in told)
    return [each for each in dict.fromkeys(a for some in found for a in some) if each not in held]


@cache
def load_aliases() -> Mapping[str, tuple[str, ...]]:
    """Return the words that are typed for a thing, by the words it is called by."""
    lines = Path(__file__).with_name(_TABLE).read_text("utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if not line.startswith("#"))
    return {thing: tuple(aliases.split()) for thing, aliases in pairs}
