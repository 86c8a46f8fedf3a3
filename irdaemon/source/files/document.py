"""Turn a text file into an artifact, with the title it gives itself."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from irdaemon.source.frontmatter import Front, decode, get_words, split_front
from irdaemon.source.frontmatter import get_text as one_line
from irdaemon.source.markdown import find_heading
from irdaemon.source.opening import read_regular
from irdaemon.types import FIRST_LINE, Artifact, Entry, Refused

# Tell files that are not text from those that are, by their first bytes.

# Git's own test for a binary file, and its sample size.
_SAMPLE = 8_000
_NUL = b"\0"
# What text of any encoding may hold below a space: bell to carriage return, end of file, escape.
_CONTROLS = bytes(set(range(32)) - {*range(7, 14), 26, 27}) + b"\x7f"
# Compressed or encrypted bytes hold about one in ten of them, and are no valid UTF-8.
_MOST_CONTROLS = 0.05

# First bytes by which a format is recognised. Those that a person could type are long enough that
# no text begins with them.
_SIGNATURES = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x7fELF", "an ELF program"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh91AY&SY", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
)
_PDF = b"%PDF-"
_BLANKS_AND_MARK = b"\xef\xbb\xbf\t\n\r "


def detect_binary(data: bytes) -> str:
    """Return the kind of a file by its first bytes, "" for text of any encoding without NULs."""
    named = next((kind for start, kind in _SIGNATURES if data.startswith(start)), "")
    return named or _detect_pdf(data) or _detect_unknown(data)


def _detect_pdf(data: bytes) -> str:
    """Recognise a PDF: its mark and a version; a text about the mark has none after it."""
    start = data[:_SAMPLE].lstrip(_BLANKS_AND_MARK)
    return "a PDF document" if start.startswith(_PDF) and start[5:6].isdigit() else ""


def _detect_unknown(data: bytes) -> str:
    sample = data[:_SAMPLE]
    if _NUL in sample:
        return "it has NUL bytes"
    with suppress(UnicodeDecodeError):
        data.decode()
        return ""
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return "it has control characters" if controls > len(sample) * _MOST_CONTROLS else ""


# The date of a document, as ISO 8601: as it states it, else the change of its file.

# The newest first: updated documents are found by that.
_STATED = ("updated", "date")
_SECOND_NS = 1_000_000_000


def find_timestamp(front_matter: Mapping[str, object], mtime_ns: int) -> str:
    """Return the day (YYYY-MM-DD) or the moment (in UTC) a document was written.

    From `updated` or `date` of its front matter, where that is an ISO date, else from the time its
    file was last modified (nanoseconds since the epoch).
    """
    stated = (_normalize_date(str(front_matter.get(key, "")).strip()) for key in _STATED)
    return next(filter(None, stated), None) or _format_utc(
        datetime.fromtimestamp(mtime_ns // _SECOND_NS, UTC)
    )


def _normalize_date(text: str) -> str:
    """Return an ISO date in its one form, "" for any other text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if "T" not in text and ":" not in text:
        return moment.date().isoformat()
    try:
        return _format_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except OverflowError:
        return ""


def _format_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


MARKDOWN = frozenset({".md", ".markdown", ".mdx"})


def read_text(entry: Entry, place: Mapping[str, object], max_bytes: int) -> Artifact:
    """Read one text file; `place` (with its relative `path`) joins the metadata.

    Raises FileNotFoundError when it is gone, SourceError when it is too large or unreadable,
    Refused when it is not text: its known text is forgotten.
    """
    data = read_regular(entry.path, max_bytes)
    if kind := detect_binary(data):
        raise Refused(
            f"{entry.path}: not a text file ({kind})",
            "exclude it, or narrow the corpus' pattern",
        )
    text, flags = decode(data)
    filename = os.path.basename(entry.path)
    suffix = os.path.splitext(filename)[1].lower()
    parts = split_front(text) if suffix in MARKDOWN else Front({}, text)
    stated = _find_fields(parts) if suffix in MARKDOWN else {}
    name = str(stated.get("title") or filename)
    own = {
        "filename": filename,
        "suffix": suffix,
        "scope": entry.scope,
        "timestamp": find_timestamp(parts.fields, entry.mtime_ns),
    }
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "path": place["path"], **_make_parts(text, parts)},
        name=name,
        pointer=entry.path,
        metadata={**place, **own, **stated, **({"flags": list(flags)} if flags else {})},
        digest=hashlib.sha256(data).hexdigest(),
        flags=flags,
    )


def _make_parts(text: str, parts: Front) -> dict[str, object]:
    """Return the text to show and embed, and the front matter, whose words are searched as well.

    With the line of the file that the text begins in. A document that is front matter alone is
    shown as it is.
    """
    if not parts.body.strip():
        return {"text": text, FIRST_LINE: 1}
    front_matter = text.removesuffix(parts.body)
    own = {"text": parts.body, FIRST_LINE: 1 + front_matter.count("\n")}
    return {**own, **({"lexical": front_matter} if front_matter.strip() else {})}


def _find_fields(parts: Front) -> dict[str, object]:
    found: dict[str, object] = {
        "title": one_line(parts.fields, "title") or find_heading(parts.body),
        "description": one_line(parts.fields, "description"),
        "tags": get_words(parts.fields, "tags"),
    }
    return {key: value for key, value in found.items() if value}
