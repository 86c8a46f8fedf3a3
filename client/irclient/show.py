"""What a person sees of the daemon and its corpora: tables as plain lines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from irclient.show_answer import safe
from irclient.show_health import health


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
    lines = [head, corpora(state["corpora"]), *health(state)]
    if "profile" in state:
        lines += ["", stages(state["profile"])]
    return "\n".join(lines)


def stages(profile: dict[str, dict[str, float]]) -> str:
    """Return one row for each stage: how often, and how long in milliseconds."""
    columns = ("stage", "n", "p50 ms", "p95 ms", "max ms")
    rows = [[name, f["n"], f["p50"], f["p95"], f["max"]] for name, f in profile.items()]
    return table(columns, rows)


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
        f"  {failure['corpus']}  {safe(failure['reason'])}{_tries(failure.get('tries', 1))}"
        for failure in found
    )


def _tries(tries: int) -> str:
    return f" (tried {tries:,} times)" if tries > 1 else ""


def _duration(seconds: float) -> str:
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} d"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {int(seconds % 60)} s"
