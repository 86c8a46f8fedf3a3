"""Captions: what a person wrote about an image, in a file beside it that is called like it.

`beans.txt`, `beans.md` and `beans.json` belong to `beans.jpg`. A link is not followed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from irdaemon.source.asset_types import IMAGES
from irdaemon.source.frontmatter import decode
from irdaemon.source.opening import read_regular
from irdaemon.source.tree import stamp_of
from irdaemon.types import Entry, SourceError

_SUFFIXES = (".txt", ".md", ".json")
_MAX_BYTES = 100_000
# A page about a subject may be called like its picture: its beginning says what is to be seen.
_CHARS = 2_000
_DEEPEST = 8


def caption(image: str) -> str:
    """Return the beginning of each caption of an image, one below the other, "" for none."""
    return "\n".join(filter(None, map(_text, _paths(image))))


def captioned(image: Entry) -> Entry:
    """Return the entry of an image with a stamp that its captions change too."""
    found = [status for path in _paths(image.path) if (status := _status(path))]
    stamp = " ".join([image.stamp, *map(stamp_of, found)])
    mtime_ns = max([image.mtime_ns, *(status.st_mtime_ns for status in found)])
    return replace(image, stamp=stamp, mtime_ns=mtime_ns)


def is_caption(path: str) -> bool:
    """Return whether an image lies beside a path whose caption is, or was, at that path."""
    stem, suffix = os.path.splitext(path)
    either = (form for image in IMAGES for form in (image, image.upper()))
    return suffix in _SUFFIXES and any(os.path.isfile(stem + form) for form in either)


def _paths(image: str) -> list[str]:
    return [os.path.splitext(image)[0] + suffix for suffix in _SUFFIXES]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _text(path: str) -> str:
    try:
        text, _ = decode(read_regular(path, _MAX_BYTES))
        if path.endswith(".json"):
            text = "\n".join(_strings(json.loads(text)))
    except (OSError, SourceError, ValueError, RecursionError):
        return ""
    return text.strip()[:_CHARS]


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in plain data."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth + 1)
