"""Turn a text file into an artifact, with the title it gives itself."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping

from irdaemon.source.files.binary import binary_kind
from irdaemon.source.files.written import timestamp_of
from irdaemon.source.frontmatter import Front, decode, front
from irdaemon.source.markdown import first_heading
from irdaemon.source.opening import read_regular
from irdaemon.source.skills.fields import text as one_line
from irdaemon.source.skills.fields import words
from irdaemon.types import Artifact, Entry, Refused

MARKDOWN = frozenset({".md", ".markdown", ".mdx"})


def document(entry: Entry, place: Mapping[str, object], max_bytes: int) -> Artifact:
    """Read one text file; `place` (with its relative `path`) joins the metadata.

    Raises FileNotFoundError when it is gone, SourceError when it is too large or unreadable,
    Refused when it is not text: what it held before is forgotten.
    """
    data = read_regular(entry.path, max_bytes)
    if kind := binary_kind(data):
        raise Refused(
            f"{entry.path}: not a text file ({kind})",
            "exclude it, or narrow the corpus' pattern",
        )
    text, flags = decode(data)
    filename = os.path.basename(entry.path)
    suffix = os.path.splitext(filename)[1].lower()
    parts = front(text) if suffix in MARKDOWN else Front({}, text)
    stated = _stated(parts) if suffix in MARKDOWN else {}
    name = str(stated.get("title") or filename)
    own = {
        "filename": filename,
        "suffix": suffix,
        "scope": entry.scope,
        "timestamp": timestamp_of(parts.fields, entry.mtime_ns),
    }
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "path": place["path"], **_parted(text, parts)},
        name=name,
        pointer=entry.path,
        metadata={**place, **own, **stated, **({"flags": list(flags)} if flags else {})},
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _parted(text: str, parts: Front) -> dict[str, str]:
    """Return the text to show and embed, and the front matter, whose words are searched as well.

    A document that is front matter alone is shown as it is.
    """
    if not parts.body.strip():
        return {"text": text}
    front_matter = text.removesuffix(parts.body)
    return {"text": parts.body, **({"lexical": front_matter} if front_matter.strip() else {})}


def _stated(parts: Front) -> dict[str, object]:
    found: dict[str, object] = {
        "title": one_line(parts.fields, "title") or first_heading(parts.body),
        "description": one_line(parts.fields, "description"),
        "tags": words(parts.fields, "tags"),
    }
    return {key: value for key, value in found.items() if value}
