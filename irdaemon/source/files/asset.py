"""Turn a PDF or an image into an artifact: its text, read in a child process, is its payload."""

from __future__ import annotations

import os
from collections.abc import Mapping

from irdaemon.source.files.extraction import Extraction, extracted
from irdaemon.types import Artifact, Entry


def asset(entry: Entry, place: Mapping[str, object], max_bytes: int) -> Artifact:
    """Read one PDF or image; `place` (with its relative `path`) joins the metadata.

    Raises what `extracted` does.
    """
    found = extracted(entry.path, max_bytes)
    filename = os.path.basename(entry.path)
    suffix = os.path.splitext(filename)[1].lower()
    name = str(found.fields.get("title") or filename)
    own = {"filename": filename, "suffix": suffix, "scope": entry.scope}
    flags = {"flags": list(found.flags)} if found.flags else {}
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "text": found.text, "path": place["path"]},
        name=name,
        pointer=entry.path,
        metadata={**found.fields, **place, **own, **flags},
        body=_body(found),
        digest=found.digest,
        flags=found.flags,
    )


def _body(found: Extraction) -> str:
    """Return the text as it is disclosed, its pages numbered."""
    pages = [page.strip() for page in found.text.split("\f")]
    if "n_pages" not in found.fields:
        return pages[0]
    numbered = enumerate(pages, start=1)
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in numbered if page)
