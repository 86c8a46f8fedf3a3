"""What a person sees of an answer: hits and payloads as plain lines, cut to the terminal.

Answers are plain data here, as they cross the wire, and nothing heavier than `os` is imported: this
is on the way of every prompt. Text from indexed files is data: control characters, which could
drive a terminal, are replaced.
"""

from __future__ import annotations

import os
import sys
import unicodedata

TYPE_CHECKING = False  # typing itself takes 8 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_BAR = 10
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
# Letters and signs that look like nothing, beside the selectors of variants.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_REASONS = {
    "below_floor": "the nearest is too far from what was asked",
    "no_candidates": "nothing indexed shares anything with the query",
    "nothing_indexed": "there is nothing in the index yet",
    "filtered_out": "the filters leave nothing to choose from",
    "offered_before": "this session was shown what does",
}


def is_hidden(char: str) -> bool:
    """Say whether a character is one that a terminal obeys, or does not show.

    Controls, changes of direction, format characters, separators of lines and paragraphs, private
    ones, and letters that are blank; save the line end and the tab.
    """
    if char in "\n\t":
        return False
    code = ord(char)
    blank = char in _BLANK or 0xFE00 <= code <= 0xFE0D or 0xE0100 <= code <= 0xE01EF
    return blank or unicodedata.category(char) in _HIDDEN


def safe(text: str) -> str:
    """Replace hidden characters, so that a terminal shows what is there and obeys nothing."""
    if text.isascii() and text.isprintable():
        return text
    shown = text.replace("\r\n", "\n")
    return "".join("\ufffd" if is_hidden(char) else char for char in shown)


def escaped(json_text: str) -> str:
    """Spell the hidden characters of JSON as escapes: the same data, harmless on a terminal."""
    if json_text.isascii() and json_text.isprintable():
        return json_text
    return "".join(_escape(char) if is_hidden(char) else char for char in json_text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)


def clipped(text: str, width: int) -> str:
    """Return `text`, or its beginning and an ellipsis where it is longer than `width`."""
    return text if len(text) <= width else text[: max(1, width - 3)] + "..."


def answer_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield an answer as lines: the hits, or why there are none."""
    for hit in answer["results"]:
        yield from hit_lines(hit)
    if answer["abstained"]:
        reason = answer["reason"]
        yield f"nothing applies: {_REASONS.get(reason, reason)}"


def hit_lines(hit: Mapping[str, Any]) -> Iterator[str]:
    """Yield one hit as a few lines, and its disclosure where it has one."""
    filled = round(_BAR * max(0.0, min(1.0, hit["score"])))
    bar = "█" * filled + "·" * (_BAR - filled)
    yield f"{bar} {hit['score']:.2f}  {_bold(safe(hit['name']))}  {hit['corpus']}"
    yield "    " + clipped(safe(hit["summary"]), _width() - 5)
    if place := hit["pointer"] or hit["artifact_id"]:
        yield "    " + safe(place)
    if hit.get("hidden"):
        yield f"    hidden characters: {', '.join(hit['hidden'])}"
    if hit["copies"]:
        yield f"    also: {', '.join(map(safe, hit['copies']))}"
    if disclosed := hit.get("disclosure"):
        yield from ("", *disclosure_lines(disclosed), "")


def footer(answer: Mapping[str, Any]) -> str:
    """Return one line on how the answer came about, for stderr."""
    fresh = answer["freshness"]
    parts = [
        f"{answer['n_selected']} of {answer['n_retrieved']} candidates",
        answer["reason"],
        f"{answer['took_ms']:.1f} ms",
        f"generation {answer['generation']}",
        f"legs {'+'.join(fresh.get('legs') or ['none'])}",
    ]
    if fresh.get("pending"):
        parts.append(f"{fresh['pending']:,} changes pending")
    if fresh.get("building"):
        parts.append(f"still building: {', '.join(fresh['building'])}")
    if fresh.get("degraded"):
        parts.append(f"roots missing: {', '.join(fresh['degraded'])}")
    return " · ".join(parts)


def disclosure_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a payload: what was wrong with it, its text, and the files that go with it."""
    if found["note"]:
        why = f": {safe(found['reason'])}" if found["reason"] else ""
        yield f"[{safe(found['corpus'] + '/' + found['artifact_id'])}: {found['note']}{why}]"
    if found["stale"] and found["current_digest"]:
        yield f"[indexed {found['indexed_digest'][:12]}, now {found['current_digest'][:12]}]"
    if found["hidden"]:
        yield f"[hidden characters, shown as \ufffd: {', '.join(found['hidden'])}]"
    if found["redacted"]:
        yield f"[{found['redacted']:,} secrets taken out]"
    if found["passage"] is not None:
        count = len(found["passage_records"])
        lacks = f", {found['expansion']}" if found["expansion"] else ""
        yield f"[{count} records{lacks}]"
        yield safe(found["passage"]).rstrip("\n")
    if found["body"] is not None:
        yield safe(found["body"]).rstrip("\n")
    if found["truncated"]:
        yield "[cut here; the file goes on]"
    for file in found["files"]:
        yield f"--- {safe(file['path'])} ({file['size']:,} bytes)"
        if file["text"] is not None:
            yield safe(file["text"]).rstrip("\n")
        elif file["note"]:
            yield f"[{file['note']}]"
    if found["files_omitted"]:
        yield f"[and {found['files_omitted']:,} more files]"


def _bold(text: str) -> str:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def _width() -> int:
    """Return the terminal's width; as shutil does, without what importing that costs."""
    try:
        columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns
    except (OSError, ValueError):
        columns = 0
    return max(40, columns or 100)
