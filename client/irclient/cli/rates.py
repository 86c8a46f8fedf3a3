"""Rates between two samples of the status: answers and jobs per second, and their times."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from irclient.counts import format_count


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something of a kind (`answer` or `job`) happens, and its usual milliseconds."""

    kind: str
    name: str
    per_second: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The daemon's status at one moment, and the rates since the moment before."""

    state: Mapping[str, Any]
    rates: tuple[Rate, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the sample as plain data."""
        return {**self.state, "rates": [asdict(rate) for rate in self.rates]}

    def compute_rate(self, kind: str) -> float:
        """Return how many of a kind happened per second."""
        return sum(rate.per_second for rate in self.rates if rate.kind == kind)

    def find_busiest(self, kind: str) -> Rate | None:
        """Return the most frequent of a kind; None if nothing happens."""
        busy = [rate for rate in self.rates if rate.kind == kind and rate.per_second]
        return max(busy, key=lambda rate: rate.per_second, default=None)


def take_sample(state: Mapping[str, Any], before: Sample | None, seconds: float) -> Sample:
    """Return a sample of a status with its profile, `seconds` after another of the same daemon."""
    known = before is not None and before.state["pid"] == state["pid"] and seconds > 0
    totals = _read_totals(before.state) if before is not None and known else _read_totals(state)
    return Sample(state, tuple(_measure_rates(state, totals, seconds)))


_KINDS = {"tier ": "answer", "job ": "job"}


def _measure_rates(
    state: Mapping[str, Any], totals: Mapping[str, int], seconds: float
) -> list[Rate]:
    return [
        Rate(
            kind,
            stage.removeprefix(prefix),
            (figures.get("total", 0) - totals.get(stage, 0)) / (seconds or 1),
            figures["p50"],
            figures["p95"],
        )
        for stage, figures in state["profile"].items()
        for prefix, kind in _KINDS.items()
        if stage.startswith(prefix)
    ]


def _read_totals(state: Mapping[str, Any]) -> dict[str, int]:
    return {stage: figures.get("total", 0) for stage, figures in state["profile"].items()}


def format_sample(sample: Sample) -> str:
    """Return the time, generation, queue, rates and memory of a sample."""
    state = sample.state
    parts = [
        time.strftime("%H:%M:%S"),
        f"generation {state['generation']}",
        f"{format_count(state['queue'], 'job')} waiting or running",
        f"{sample.compute_rate('job'):.1f} jobs/s",
        format_answers(sample),
    ]
    if state.get("rss_bytes") is not None:
        parts.append(f"{state['rss_bytes'] / 1e6:,.0f} MB")
    return "  ".join(parts)


def format_answers(sample: Sample) -> str:
    """Return the answers a second, and how long the most frequent kind takes."""
    text = f"{sample.compute_rate('answer'):.1f} answers/s"
    if most := sample.find_busiest("answer"):
        text += f" ({most.name}: p50 {most.p50:.1f} ms, p95 {most.p95:.1f} ms)"
    return text
