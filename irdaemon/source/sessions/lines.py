"""Read the whole lines of a JSONL file, from an offset on, in bounded memory.

A line is read once its newline is there: what an agent is still writing waits for the next read.
A line that is too long, or no JSON object, is passed over and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

# Longer lines hold images or tool output in base64; no prompt or answer comes near.
LINE_LIMIT = 16 * 1024 * 1024
# A value takes up to a hundred times the bytes that state it, and a mark sets each off: so many
# take some 250 MB, as those of the longest line do.
_MOST_MARKS = 2_000_000
_CHUNK = 1024 * 1024
# The description of a session is kept between reads, so a file must not make it grow.
ID_LENGTH, PATH_LENGTH, TITLE_LENGTH = 200, 4096, 300


class TooManyValues(ValueError):
    """A JSON text states more values than are parsed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line and the offset of its first byte."""

    offset: int
    record: Mapping[str, Any]


@dataclass(slots=True)
class LineReader:
    """A position in an open file; `end` is the offset after the last whole line read.

    A line of more than `limit` bytes is passed over.
    """

    file: BinaryIO
    end: int = 0
    limit: int = LINE_LIMIT
    skipped: Counter[str] = field(default_factory=Counter)

    def records(self) -> Iterator[Line]:
        """Yield the JSON objects from `end` to the last whole line."""
        self.file.seek(self.end)
        while True:
            offset = self.end
            raw = self._whole_line()
            if raw is None:
                return
            record = self._parsed(raw)
            if record is not None:
                yield Line(offset, record)

    def _whole_line(self) -> bytes | None:
        """Return the next line, empty when it was passed over, None when there is none yet."""
        raw = self.file.readline(self.limit + 1)
        if raw.endswith(b"\n"):
            self.end += len(raw)
            return raw
        if len(raw) <= self.limit:
            return None
        return self._pass_over(len(raw))

    def _pass_over(self, size: int) -> bytes | None:
        while piece := self.file.readline(_CHUNK):
            size += len(piece)
            if piece.endswith(b"\n"):
                self.end += size
                self.skipped["oversized_line"] += 1
                return b""
        return None

    def _parsed(self, raw: bytes) -> Mapping[str, Any] | None:
        if not raw.strip():
            return None
        try:
            record = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            return record
        self.skipped["bad_line"] += 1
        return None


def bounded_json(text: str | bytes) -> Any:
    """Parse JSON, of any length but of so many values.

    Raises ValueError, TooManyValues for one, or RecursionError.
    """
    if len(text) > LINE_LIMIT:
        marks = (b"[", b"{", b",") if isinstance(text, bytes) else ("[", "{", ",")
        if sum(map(text.count, marks)) > _MOST_MARKS:  # type: ignore[arg-type]
            raise TooManyValues(f"more than {_MOST_MARKS:,} values")
    return json.loads(text)


def plain(value: object, limit: int | None = None) -> str:
    """Return a JSON string as text that can be stored, "" for anything else.

    JSON can spell half of a surrogate pair, which no encoding takes.
    """
    if not isinstance(value, str):
        return ""
    return value[:limit].encode("utf-8", "replace").decode("utf-8")


def part(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a nested JSON object, empty when it is missing or something else."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}
