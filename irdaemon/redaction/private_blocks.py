"""Private blocks: what stands between <private> and </private> is nobody's but its author's."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)private>", re.IGNORECASE)


def without_private(text: str) -> str:
    """Return a text without its closed private blocks; one within another goes with it."""
    if "private>" not in text and "PRIVATE>" not in text and "Private>" not in text:
        return text
    kept, at, opened = [], 0, list[int]()
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened.append(tag.start())
        elif opened:
            start = opened.pop()
            if not opened:
                kept.append(text[at:start])
                at = tag.end()
    return "".join(kept) + text[at:]
