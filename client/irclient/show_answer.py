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
_REASONS = {
    "below_floor": "the nearest is too far from what was asked",
    "no_candidates": "nothing indexed shares anything with the query",
    "nothing_indexed": "there is nothing in the index yet",
    "filtered_out": "the filters leave nothing to choose from",
    "offered_before": "this session was shown what does",
}


def safe(text: str) -> str:
    """Replace control and direction-changing characters, save line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t" else c for c in text
    )


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
        yield f"[{found['corpus']}/{found['artifact_id']}: {found['note']}]"
    if found["stale"] and found["current_digest"]:
        yield f"[indexed {found['indexed_digest'][:12]}, now {found['current_digest'][:12]}]"
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
