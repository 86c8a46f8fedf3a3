"""Remove private blocks: what stands between <private> and </private>."""

from __future__ import annotations

import re

from irdaemon.source.redact.spelling import GREATER, LESS

_NAME = r"\s{0,8}(\\{0,63}/|)\s{0,8}private\s{0,8}"
_TAG = re.compile(f"<{_NAME}>", re.IGNORECASE)
# As JSON spells it where it is shown in a page. Slower to search for, and rare.
_SPELT = re.compile(f"{LESS}{_NAME}{GREATER}", re.IGNORECASE)


def has_private(text: str) -> bool:
    """Return whether a private block begins in a text, closed or not."""
    pattern = _SPELT if "u003" in text or "&lt;" in text else _TAG
    return any(not tag[1] for tag in pattern.finditer(text))


def remove_private(text: str) -> str:
    """Return a text without its closed private blocks; one within another goes with it."""
    pattern = _SPELT if "u003" in text or "&lt;" in text else _TAG
    kept, at, opened = [], 0, list[int]()
    for tag in pattern.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            if not opened:
                kept.append(text[at:start])
                at = tag.end()
    return "".join(kept) + text[at:] if kept else text
