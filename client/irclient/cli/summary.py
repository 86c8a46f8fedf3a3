"""One sample of a daemon's status as one line of text."""

from __future__ import annotations

import time

from irclient.cli.rates import Sample
from irclient.counts import counted


def line(sample: Sample) -> str:
    """Return the time, generation, queue, rates and memory of a sample."""
    state = sample.state
    parts = [
        time.strftime("%H:%M:%S"),
        f"generation {state['generation']}",
        f"{counted(state['queue'], 'job')} waiting or running",
        f"{sample.per_second('job'):.1f} jobs/s",
        answers(sample),
    ]
    if state.get("rss_bytes") is not None:
        parts.append(f"{state['rss_bytes'] / 1e6:,.0f} MB")
    return "  ".join(parts)


def answers(sample: Sample) -> str:
    """Return the answers a second, and how long the most frequent kind takes."""
    text = f"{sample.per_second('answer'):.1f} answers/s"
    if most := sample.busiest("answer"):
        text += f" ({most.name}: p50 {most.p50:.1f} ms, p95 {most.p95:.1f} ms)"
    return text
