"""What a person sees: answers and tables as plain lines, wrapped to the terminal.

Text from indexed files is data: control characters, which could drive a terminal, are replaced.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from irclient.types import Disclosure, Hit, Selection

_BAR = 10
_REASONS = {
    "below_floor": "the nearest is too far from what was asked",
    "no_candidates": "nothing indexed shares anything with the query",
    "nothing_indexed": "there is nothing in the index yet",
    "filtered_out": "the filters leave nothing to choose from",
}


def safe(text: str) -> str:
    """Replace control and direction-changing characters, save line ends and tabs."""
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t" else c for c in text
    )


def _bold(text: str) -> str:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[1m{text}\x1b[0m" if colour else text


def clipped(text: str, width: int) -> str:
    """Return `text`, or its beginning and an ellipsis where it is longer than `width`."""
    return text if len(text) <= width else text[: max(1, width - 3)] + "..."


def _width() -> int:
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def selection(answer: Selection) -> str:
    """Return an answer as lines: the hits, or why there are none, then how fresh it is."""
    lines = [line for hit in answer.results for line in hit_lines(hit)]
    if answer.abstained:
        lines.append(f"nothing applies: {_REASONS.get(answer.reason, answer.reason)}")
    return "\n".join(lines)


def hit_lines(hit: Hit) -> list[str]:
    """Return one hit as a few lines, and its disclosure where it has one."""
    filled = round(_BAR * max(0.0, min(1.0, hit.score)))
    bar = "█" * filled + "·" * (_BAR - filled)
    lines = [f"{bar} {hit.score:.2f}  {_bold(safe(hit.name))}  {hit.corpus}"]
    lines.append("    " + clipped(safe(hit.summary), _width() - 5))
    if place := hit.pointer or hit.artifact_id:
        lines.append("    " + safe(place))
    if hit.copies:
        lines.append(f"    also: {', '.join(map(safe, hit.copies))}")
    if hit.disclosure is not None:
        lines += ["", disclosure(hit.disclosure), ""]
    return lines


def footer(answer: Selection) -> str:
    """Return one line on how the answer came about, for stderr."""
    fresh = answer.freshness
    parts = [
        f"{answer.n_selected} of {answer.n_retrieved} candidates",
        f"{answer.reason}",
        f"{answer.took_ms:.1f} ms",
        f"generation {answer.generation}",
        f"legs {'+'.join(fresh.get('legs') or ['none'])}",
    ]
    if fresh.get("pending"):
        parts.append(f"{fresh['pending']:,} changes pending")
    if fresh.get("building"):
        parts.append(f"still building: {', '.join(fresh['building'])}")
    if fresh.get("degraded"):
        parts.append(f"roots missing: {', '.join(fresh['degraded'])}")
    return " · ".join(parts)


def disclosure(found: Disclosure) -> str:
    """Return a payload: what was wrong with it, its text, and the files that go with it."""
    lines = []
    if found.note:
        lines.append(f"[{found.corpus}/{found.artifact_id}: {found.note}]")
    if found.stale and found.current_digest:
        was, now = found.indexed_digest[:12], found.current_digest[:12]
        lines.append(f"[indexed {was}, now {now}]")
    if found.passage is not None:
        count = len(found.passage_records)
        lines.append(f"[{count} records{f', {found.expansion}' if found.expansion else ''}]")
        lines.append(safe(found.passage).rstrip("\n"))
    if found.body is not None:
        lines.append(safe(found.body).rstrip("\n"))
    if found.truncated:
        lines.append("[cut here; the file goes on]")
    for file in found.files:
        lines.append(f"--- {safe(file.path)} ({file.size:,} bytes)")
        if file.text is not None:
            lines.append(safe(file.text).rstrip("\n"))
    if found.files_omitted:
        lines.append(f"[and {found.files_omitted:,} more files]")
    return "\n".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows in columns, numbers to the right."""
    cells = [list(map(str, head)), *([_cell(value) for value in row] for row in rows)]
    right = [all(isinstance(v, (int, float)) for v in column) for column in zip(*rows, strict=True)]
    right = right or [False] * len(head)
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else safe(str(value))


def status(state: dict[str, Any]) -> str:
    """Return the daemon's state: who, how long, and one row for each corpus."""
    head = (
        f"irdaemon {state['version']}, pid {state['pid']}, up {_duration(state['uptime_s'])},"
        f" generation {state['generation']}, {state['queue']} jobs"
    )
    lines = [head, corpora(state["corpora"])]
    for corpus in state["corpora"]:
        for problem in corpus["problems"]:
            lines.append(f"{corpus['name']}: {safe(problem['path'])}: {problem['reason']}")
    for watch in state.get("watch", ()):
        if watch["reason"]:
            lines.append(f"{watch['mode']}: {safe(watch['path'])}: {watch['reason']}")
    return "\n".join(lines)


def floor(found: dict[str, Any]) -> str:
    """Return a calibrated floor as one line: what it is, how good, on what grounds, since when."""
    kind = "labelled" if found["labelled"] else "made-up"
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(found["calibrated_at"]))
    return (
        f"{found['at_least']:.2f}, J {found['j']:.2f} on {found['n_inside']} answerable and"
        f" {found['n_outside']} other {kind} queries, {since}"
        + ("" if found["applied"] else "; not applied, it separates badly")
    )


def corpora(states: Sequence[dict[str, Any]]) -> str:
    """Return one row for each corpus."""
    columns = ("name", "kind", "artifacts", "records", "vectors", "failures", "pending", "state")
    rows = [[state[column] for column in columns] for state in states]
    return table(columns, rows) if rows else "no corpora; irc add NAME KIND ROOT makes one"


def failures(found: Sequence[dict[str, Any]]) -> str:
    """Return one line for each failure: since when, what, and why."""
    return "\n".join(
        f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(failure['since']))}"
        f"  {failure['corpus']}  {safe(failure['reason'])}"
        for failure in found
    )


def _duration(seconds: float) -> str:
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"
