"""Print the text of a PDF: run by `extraction` in a child process, as a file alone.

    python -P extract_pdf.py < FILE

Prints JSON in UTF-8: `{"text": ..., "fields": {...}, "flags": [...]}`, its pages apart by form
feeds, or `{"failure": NAME}` with a name that `extraction` explains.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

_MOST_PAGES = 2_000
_MOST_CHARS = 8_000_000
_LINE_CHARS = 300
# What programs write where no title or name was given.
_PLACEHOLDERS = ("untitled", "anonymous", "(anonymous)", "unspecified", "(unspecified)")
# A form feed parts pages; other control characters are remains of a broken font table.
_CONTROLS = {code: " " for code in range(32) if code not in (9, 10)}


class _Failure(Exception):
    """The PDF gives no text; the name of why."""


def main(file: BinaryIO) -> None:
    """Print the text and metadata of a PDF, or why it cannot be read."""
    try:
        found = _extract(file)
    except _Failure as failure:
        found = {"failure": str(failure)}
    except MemoryError:
        found = {"failure": "memory"}
    except DependencyError:
        found = {"failure": "cipher"}
    except FileNotDecryptedError:
        found = {"failure": "encrypted"}
    except Exception:  # a damaged file makes the parser raise anything
        found = {"failure": "damaged"}
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _extract(file: BinaryIO) -> dict[str, Any]:
    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise _Failure("encrypted")
    n_pages = len(reader.pages)
    if n_pages > _MOST_PAGES:
        raise _Failure("pages")
    texts = [_read_page(reader, number) for number in range(n_pages)]
    pages = [text or "" for text in texts]
    if None in texts and not any(map(str.strip, pages)):
        raise _Failure("damaged")
    if not any(map(str.strip, pages)):
        raise _Failure("no_text")
    if sum(map(len, pages)) > _MOST_CHARS:
        raise _Failure("long")
    flags = ["unread_pages"] if None in texts else []
    fields = {"n_pages": n_pages, **_read_metadata(reader)}
    return {"text": "\n\f\n".join(pages), "fields": fields, "flags": flags}


def _read_page(reader: PdfReader, number: int) -> str | None:
    """Return the text of a page; None where it cannot be read, which the others survive."""
    try:
        return reader.pages[number].extract_text().translate(_CONTROLS)
    except MemoryError:
        raise
    except Exception:
        return None


def _read_metadata(reader: PdfReader) -> dict[str, str]:
    """Return the title, author and date that a PDF states, each where it can be read."""
    stated = reader.metadata
    if stated is None:
        return {}
    wanted = {
        "title": lambda: stated.title,
        "author": lambda: stated.author,
        "date": lambda: stated.creation_date and stated.creation_date.isoformat(),
    }
    found = {name: _read_field(read) for name, read in wanted.items()}
    return {k: value for k, value in found.items() if value and value not in _PLACEHOLDERS}


def _read_field(read: Callable[[], Any]) -> str:
    try:
        return " ".join(str(read() or "").translate(_CONTROLS).split())[:_LINE_CHARS]
    except (PyPdfError, ValueError, TypeError, AttributeError):
        return ""


if __name__ == "__main__":
    main(sys.stdin.buffer)
