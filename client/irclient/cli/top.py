"""`irc top`: the daemon at work, as lines or on a screen; and the rates that it shows."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from irclient.client import Client
from irclient.counts import counted
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import argument, command
from irclient.terminal.output import note, output_lost, print_json, print_line, seconds

# A daemon that hangs must not keep the keys from being read.
_WITHIN_S = 2.0


@command(
    argument("--every", type=seconds, default=1.0, metavar="S", help="refresh every S seconds (1)"),
    argument("--count", type=int, metavar="N", help="end after N refreshes"),
)
def watch_daemon(client: Client, options: argparse.Namespace) -> int:
    """Show the daemon at work, live.

    Show corpora, queue, running jobs, answers per second and how long they take,
    and memory, refreshed every second until q or Ctrl-C. When stdout is not a
    terminal, print a line for each refresh.

    examples:
    # watch it
    irc top

    # a line every ten seconds, into a file
    irc top --every 10 > load.txt

    # three samples, as data
    irc top --count 3 --json
    """
    client.timeout = min(client.timeout, _WITHIN_S)
    first = take_sample(client.status(profile=True).to_dict(), None, 0)
    if not options.json and _is_screen():
        try:
            from irclient.cli.screen import watch
        except ImportError:
            from irclient.installation import extra_command

            note(f"irc: for a screen: {extra_command('terminal', 'irclient')}")
        else:
            watch(client, first, options)
            return COMMITTED
    return _lines(client, first, options)


def _lines(client: Client, current: Sample, options: argparse.Namespace) -> int:
    for number in itertools.count(1):
        if options.json:
            print_json(current.to_dict())
        else:
            print_line(line(current))
        if number == options.count or output_lost():
            break
        seen = time.monotonic()
        time.sleep(options.every)
        state = client.status(profile=True).to_dict()
        current = take_sample(state, current, time.monotonic() - seen)
    return COMMITTED


def _is_screen() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


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

    def per_second(self, kind: str) -> float:
        """Return how many of a kind there were a second."""
        return sum(rate.per_second for rate in self.rates if rate.kind == kind)

    def busiest(self, kind: str) -> Rate | None:
        """Return the one of a kind that happens most; None where nothing happens."""
        busy = [rate for rate in self.rates if rate.kind == kind and rate.per_second]
        return max(busy, key=lambda rate: rate.per_second, default=None)


def take_sample(state: Mapping[str, Any], before: Sample | None, seconds: float) -> Sample:
    """Return a sample of a status with its profile, `seconds` after another of the same daemon."""
    known = before is not None and before.state["pid"] == state["pid"] and seconds > 0
    totals = _totals(before.state) if before is not None and known else _totals(state)
    return Sample(state, tuple(_rates(state, totals, seconds)))


_KINDS = {"tier ": "answer", "job ": "job"}


def _rates(state: Mapping[str, Any], totals: Mapping[str, int], seconds: float) -> list[Rate]:
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


def _totals(state: Mapping[str, Any]) -> dict[str, int]:
    return {stage: figures.get("total", 0) for stage, figures in state["profile"].items()}


# One sample of a daemon's status as one line of text.


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
