"""The asset type of an artifact: text, code, pdf, image or multimodal.

It is computed from an artifact's fields wherever they are read, and stored nowhere: a ledger of
before it needs neither a migration nor a reading, and no recipe changes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

FIELD = "asset_type"
ASSET_TYPES = ("text", "code", "pdf", "image", "multimodal")

PDFS = frozenset({".pdf"})
IMAGES = frozenset(".bmp .gif .jfif .jpeg .jpg .png .tif .tiff .webp".split())
CODE = frozenset(
    (
        ".bash .c .cc .cjs .clj .cpp .cs .css .dart .erl .ex .exs .go .h .hpp .hs .html .java .jl"
        " .js .jsx .kt .lua .m .mjs .ml .php .pl .ps1 .py .r .rb .rs .scala .sh .sql .swift .ts"
        " .tsx .vue .zig"
    ).split()
)


def get_suffix(path: str) -> str:
    """Return the suffix of a path, in small letters."""
    return os.path.splitext(path)[1].lower()


def find_asset_type(fields: Mapping[str, Any]) -> str:
    """Return the asset type of an artifact with these fields.

    The one that they state, where they state one of the five; else that of their `suffix`; else
    text.
    """
    stated = fields.get(FIELD)
    if stated in ASSET_TYPES:
        return str(stated)
    suffix = str(fields.get("suffix") or "").lower()
    if suffix in PDFS:
        return "pdf"
    if suffix in IMAGES:
        return "image"
    return "code" if suffix in CODE else "text"
