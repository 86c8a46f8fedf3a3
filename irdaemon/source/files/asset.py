"""Turn a PDF or an image into an artifact: its text, read in a child process, is its payload."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from irclient.errors import Unavailable
from irdaemon.runtime.memory import MB
from irdaemon.runtime.pool import ProcessLimits, run_program
from irdaemon.source.asset_types import IMAGES, PDFS, get_suffix
from irdaemon.source.frontmatter import decode
from irdaemon.source.opening import open_bounded, read_regular
from irdaemon.source.tree import make_stamp
from irdaemon.types import Artifact, Entry, Refused, SourceError

# Read PDFs and images: by a library that is an extra, in a child process with limits.
#
# A parser of such files meets hostile ones, and may loop, fill the memory or crash. So it runs in a
# process of its own (`extract_pdf`, `extract_image`), for a bounded time with bounded memory, on
# the bytes of the file that was checked; its output is bounded, and is data. Whatever becomes
# of it is one file's failure. A process reads several files, one after the other (`pool`). No
# parser is imported here.

# Each child alone: one is read after the other.
_LIMITS = ProcessLimits(20.0, 1024 * MB)
_OUTPUT = 40 * MB
_SCALARS = (str, int, float, bool)
# What PDFs and images may have in bytes where a corpus does not say.
MAX_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class _Format:
    """A kind of file: the module of its reader, the extra that has it, and the reader."""

    name: str
    module: str
    extra: str
    script: str

    @property
    def missing(self) -> str:
        """Return how to install what reads it, "" where that is here."""
        if find_spec(self.module):
            return ""
        from irclient.installation import make_extra_command

        return make_extra_command(self.extra)


_FORMATS = {
    **dict.fromkeys(PDFS, _Format("PDF", "pypdf", "pdf", "extract_pdf.py")),
    **dict.fromkeys(IMAGES, _Format("image", "PIL", "image", "extract_image.py")),
}

# The failures of readers: the message, the hint, and whether the known text is forgotten.
_FAILURES = {
    "encrypted": ("encrypted with a password", "save it without one, or exclude it", True),
    "cipher": ("encrypted in a way that cannot be read here", "", False),
    "no_text": ("no text layer", "run OCR over it, or exclude it", True),
    "pages": ("more than 2,000 pages", "split it, or exclude it", False),
    "long": ("more than 8,000,000 characters of text", "split it, or exclude it", False),
    "pixels": ("more than 100,000,000 pixels", "scale it down, or exclude it", False),
    "memory": (f"needs more than {_LIMITS.memory // MB} MB of memory", "exclude it", False),
    "damaged": ("damaged or cut short", "save it again, or exclude it", False),
}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of a file, pages apart by form feeds; its metadata; the SHA-256 of its bytes."""

    text: str
    fields: Mapping[str, Any]
    flags: tuple[str, ...]
    digest: str


def is_extracted(suffix: str) -> bool:
    """Return whether files of a suffix are read by a child process."""
    return suffix in _FORMATS


def list_unreadable_suffixes() -> dict[str, str]:
    """Return the suffixes whose reader is not installed, each with the command that does it."""
    missing = {each: each.missing for each in dict.fromkeys(_FORMATS.values())}
    return {suffix: missing[each] for suffix, each in _FORMATS.items() if missing[each]}


def list_readers() -> dict[str, str]:
    """Return the formats there are readers for, each with the command to install it, "" if here."""
    return {each.name: each.missing for each in dict.fromkeys(_FORMATS.values())}


def find_missing_ocr() -> str:
    """Return how to install what reads the text in pictures, "" where that is here."""
    program = "" if shutil.which("tesseract") else "sudo apt install tesseract-ocr"
    library = ""
    if find_spec("pytesseract") is None:
        from irclient.installation import install_command

        library = install_command("pytesseract")
    return " && ".join(filter(None, (program, library)))


def extract_text(path: str, max_bytes: int) -> Extraction:
    """Read a PDF or an image by its real path, in a child process.

    Raises FileNotFoundError when it is gone, SourceError when it is too large, unreadable, or its
    reader fails or exceeds a limit, Refused when there is nothing to read in it.
    """
    format = _FORMATS[get_suffix(path)]
    if format.missing:
        raise Refused(f"{path}: the reader for this {format.name} is not installed", format.missing)
    script = os.path.join(os.path.dirname(__file__), format.script)
    with open_bounded(path, max_bytes) as file:
        data = file.read(max_bytes)
    try:
        printed = run_program(script, data, _LIMITS, _OUTPUT)
    except Unavailable as error:
        raise SourceError(f"{path}: it could not be read: {error.message}") from error
    return _parse_answer(path, printed, hashlib.sha256(data).hexdigest())


def _parse_answer(path: str, printed: bytes, digest: str) -> Extraction:
    """Return the output of a reader; its form is checked."""
    try:
        found = json.loads(printed)
        if failure := found.get("failure"):
            raise _make_failure(path, str(failure))
        stated = found["fields"].items()
        fields = {str(k): v for k, v in stated if isinstance(v, _SCALARS)}
        flags = tuple(map(str, found["flags"]))
        return Extraction(str(found["text"]), fields, flags, digest)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{path}: its reader gave no usable answer") from error


def _make_failure(path: str, failure: str) -> SourceError:
    said, cure, forgotten = _FAILURES.get(failure, _FAILURES["damaged"])
    if failure == "cipher":
        from irclient.installation import install_command

        cure = install_command("cryptography")
    return (Refused if forgotten else SourceError)(f"{path}: {said}", cure)


# Captions: a person's text about an image, in a file beside it with the same stem.
#
# `beans.txt`, `beans.md` and `beans.json` belong to `beans.jpg`. A link is not followed.

_SUFFIXES = (".txt", ".md", ".json")
_MAX_BYTES = 100_000
# A page about a subject may have the name of its picture: its beginning describes that.
_CHARS = 2_000
_DEEPEST = 8


def read_captions(image: str) -> str:
    """Return the beginning of each caption of an image, one below the other, "" for none."""
    return "\n".join(filter(None, map(_read_caption, _list_captions(image))))


def stamp_captions(image: Entry) -> Entry:
    """Return the entry of an image with a stamp that its captions change too."""
    found = [status for path in _list_captions(image.path) if (status := _read_status(path))]
    stamp = " ".join([image.stamp, *map(make_stamp, found)])
    mtime_ns = max([image.mtime_ns, *(status.st_mtime_ns for status in found)])
    return replace(image, stamp=stamp, mtime_ns=mtime_ns)


def is_caption(path: str) -> bool:
    """Return whether an image lies beside a path whose caption is, or was, at that path."""
    stem, suffix = os.path.splitext(path)
    either = (form for image in IMAGES for form in (image, image.upper()))
    return suffix in _SUFFIXES and any(os.path.isfile(stem + form) for form in either)


def _list_captions(image: str) -> list[str]:
    return [os.path.splitext(image)[0] + suffix for suffix in _SUFFIXES]


def _read_status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _read_caption(path: str) -> str:
    try:
        text, _ = decode(read_regular(path, _MAX_BYTES))
        if path.endswith(".json"):
            text = "\n".join(_find_strings(json.loads(text)))
    except (OSError, SourceError, ValueError, RecursionError):
        return ""
    return text.strip()[:_CHARS]


def _find_strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in plain data."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _find_strings(each, depth + 1)


def read_asset(entry: Entry, place: Mapping[str, object], max_bytes: int) -> Artifact:
    """Read one PDF or image; `place` (with its relative `path`) joins the metadata.

    Raises what `extract_text` does.
    """
    found = extract_text(entry.path, max_bytes)
    filename = os.path.basename(entry.path)
    suffix = get_suffix(filename)
    text = _describe(entry.path, found) if suffix in IMAGES else found.text
    name = str(found.fields.get("title") or filename)
    own = {"filename": filename, "suffix": suffix, "scope": entry.scope}
    flags = {"flags": list(found.flags)} if found.flags else {}
    return Artifact(
        artifact_id=entry.key,
        raw={"name": name, "text": text, "path": place["path"]},
        name=name,
        pointer=entry.path,
        metadata={**found.fields, **place, **own, **flags},
        body=text if suffix in IMAGES else _join_pages(text),
        digest=found.digest,
        flags=found.flags,
    )


def _describe(path: str, found: Extraction) -> str:
    """Return all that is known of an image: its name, its size, its caption, the texts in it."""
    size = "{width} x {height} pixels, {format}".format_map(found.fields)
    parts = (os.path.basename(path), size, read_captions(path), found.text)
    return "\n".join(filter(None, parts))


def _join_pages(text: str) -> str:
    """Return the text of a PDF as it is disclosed, its pages numbered."""
    pages = enumerate(map(str.strip, text.split("\f")), start=1)
    return "\n\n".join(f"[page {number}]\n{page}" for number, page in pages if page)
