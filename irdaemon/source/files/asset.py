"""Turn a PDF or an image into an artifact: its text, read in a child process, is its payload."""

from __future__ import annotations

import os
from collections.abc import Mapping

from irdaemon.source.asset_types import IMAGES, suffix_of
from irdaemon.source.files.captions import caption
from irdaemon.source.files.extraction import Extraction, extracted
from irdaemon.types import Artifact, Entry


def asset(entry: Entry, place: Mapping[str, object], max_bytes: int) -> Artifact:
    """Read one PDF or image; `place` (with its relative `path`) joins the metadata.

    Raises what `extracted` does.
    """
    found = extracted(entry.path, max_bytes)
    filename = os.path.basename(entry.path)
    suffix = suffix_of(filename)
    text = _about(entry.path, found) if suffix in IMAGES else found.text
    name = str(found.fields.get("title") or filename)
    own = {"filename": filename, "suffix": suffix, "scope": entry.scope}
    flags = {"flags": list(found.flags)} if found.flags else {}
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "text": text, "path": place["path"]},
        name=name,
        pointer=entry.path,
        metadata={**found.fields, **place, **own, **flags},
        body=text if suffix in IMAGES else _numbered(text),
        digest=found.digest,
        flags=found.flags,
    )


def _about(path: str, found: Extraction) -> str:
    """Return all that is known of an image: its name, its size, its caption, the texts in it."""
    size = "{width} x {height} pixels, {format}".format_map(found.fields)
    parts = (os.path.basename(path), size, caption(path), found.text)
    return "\n".join(filter(None, parts))


def _numbered(text: str) -> str:
    """Return the text of a PDF as it is disclosed, its pages numbered."""
    pages = enumerate(map(str.strip, text.split("\f")), start=1)
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in pages if page)
