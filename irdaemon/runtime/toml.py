"""Read TOML safely even with keys of thousands of parts.

tomllib takes time and memory quadratic in a dotted key's parts: a 40 kB key takes gigabytes.
"""

from __future__ import annotations

import tomllib
from typing import Any

_EFFORT = 10_000_000


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError, or RecursionError, for invalid TOML."""
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _EFFORT:
        raise ValueError("keys of too many parts")
    return tomllib.loads(text)
