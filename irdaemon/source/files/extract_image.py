"""Print the texts in an image: run by `extraction` in a child process, as a file alone.

    python -P extract_image.py < FILE

Prints JSON in UTF-8: `{"text": ..., "fields": {...}, "flags": [...]}`, or `{"failure": NAME}` with
a name that `extraction` explains. Text in the picture itself is read where both tesseract and
pytesseract are installed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, BinaryIO

from PIL import ExifTags, Image

# Decoded at four bytes each these take 400 MB.
_MOST_PIXELS = 100_000_000
_OCR_PIXELS = 25_000_000
_OCR_S = 12
_MOST_CHARS = 20_000
_TAG_CHARS = 2_000
_LEAST_WORD = 2
# The tags with texts of a person or a camera; the others hold numbers.
_TAGS = (
    "ImageDescription",
    "XPTitle",
    "XPSubject",
    "XPComment",
    "XPKeywords",
    "Artist",
    "Copyright",
)
# Text chunks of a PNG in which programs keep data for themselves.
_NO_TEXTS = ("XML:", "Raw profile", "date:")
_TAGS_OF_CAMERA = ("Make", "Model")
_UTF16_TAGS = ("XPTitle", "XPSubject", "XPComment", "XPKeywords")
_CONTROLS = {code: " " for code in range(32) if code != 10}


def main(file: BinaryIO) -> None:
    """Print the text and metadata of an image, or why it cannot be read."""
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    try:
        found = _extract(file)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        found = {"failure": "pixels"}
    except MemoryError:
        found = {"failure": "memory"}
    except Exception:  # a damaged file makes the parser raise anything
        found = {"failure": "damaged"}
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _extract(file: BinaryIO) -> dict[str, Any]:
    with Image.open(file) as image:
        width, height = image.size
        # All of it: only then a truncated file fails. Text behind the pixels is read as well.
        image.load()
        texts = [*_list_comments(image), *_list_tags(image)]
        fields = {
            "width": width,
            "height": height,
            "format": str(image.format or ""),
            **_find_date(image),
        }
        seen = _read_picture(image)
    text = "\n".join(dict.fromkeys(filter(None, map(_clean, [*texts, seen]))))
    flags = ["ocr"] if seen else []
    return {"text": text[:_MOST_CHARS], "fields": fields, "flags": flags}


def _list_comments(image: Image.Image) -> Iterator[str]:
    """Yield the texts of a PNG, and the comment of a JPEG or a GIF."""
    comment = image.info.get("comment", "")
    yield comment.decode("utf-8", "replace") if isinstance(comment, bytes) else str(comment)
    for name, value in getattr(image, "text", {}).items():
        if not name.startswith(_NO_TEXTS):
            yield f"{name}: {str(value)[:_TAG_CHARS]}"


def _list_tags(image: Image.Image) -> Iterator[str]:
    held = {ExifTags.TAGS.get(tag, ""): value for tag, value in image.getexif().items()}
    for name in _TAGS:
        yield _decode_tag(name, held.get(name))
    yield " ".join(_decode_tag(name, held.get(name)) for name in _TAGS_OF_CAMERA)


def _decode_tag(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-16-le" if name in _UTF16_TAGS else "utf-8", "replace")
    return value[:_TAG_CHARS] if isinstance(value, str) else ""


def _find_date(image: Image.Image) -> dict[str, str]:
    """Return when a photograph was taken, as its camera wrote it: 2026:09:01 12:30:00."""
    exif = image.getexif()
    stated = exif.get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.DateTimeOriginal)
    stated = str(stated or exif.get(ExifTags.Base.DateTime) or "")
    day, _, time = stated.partition(" ")
    digits = day.replace(":", "")
    if len(digits) != 8 or not digits.isdigit() or digits == "00000000":
        return {}
    return {"date": f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" + (f"T{time[:8]}" if time else "")}


def _read_picture(image: Image.Image) -> str:
    """Return the text in the picture, "" where nothing here reads it or it takes too long."""
    if image.width * image.height > _OCR_PIXELS or not shutil.which("tesseract"):
        return ""
    if not find_spec("pytesseract"):
        return ""
    # Threads of their own would take more address space than there is.
    os.environ |= {"OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1"}
    import pytesseract

    try:
        text = str(pytesseract.image_to_string(image.convert("RGB"), timeout=_OCR_S))
    except (RuntimeError, OSError, ValueError):
        return ""
    return text if sum(map(str.isalnum, text)) >= _LEAST_WORD else ""


def _clean(text: str) -> str:
    return "\n".join(
        " ".join(line.split()) for line in text.translate(_CONTROLS).split("\n")
    ).strip()


if __name__ == "__main__":
    main(sys.stdin.buffer)
