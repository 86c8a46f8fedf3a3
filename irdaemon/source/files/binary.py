"""Tell files that are not text from those that are, by their first bytes."""

from __future__ import annotations

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


def binary_kind(data: bytes) -> str:
    """Return what a file is by its first bytes, "" for text of any encoding without NUL bytes."""
    named = next((kind for start, kind in _SIGNATURES if data.startswith(start)), "")
    return named or _pdf(data) or _unnamed(data)


def _pdf(data: bytes) -> str:
    """Recognise a PDF: its mark and a version; a text about the mark has none after it."""
    start = data[:_SAMPLE].lstrip(_BLANKS_AND_MARK)
    return "a PDF document" if start.startswith(_PDF) and start[5:6].isdigit() else ""


def _unnamed(data: bytes) -> str:
    sample = data[:_SAMPLE]
    if _NUL in sample:
        return "it has NUL bytes"
    if _is_utf8(data):
        return ""
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return "it has control characters" if controls > len(sample) * _MOST_CONTROLS else ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
