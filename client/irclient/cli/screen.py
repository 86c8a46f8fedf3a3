"""The screen of `irc top`, drawn by Rich until q or Ctrl-C; then the terminal is restored."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from irclient.cli.rates import Sample, format_answers, take_sample
from irclient.client import Client
from irclient.errors import IRError
from irclient.invisible import spell_hidden
from irclient.terminal.tables import format_duration

_COLUMNS = ("artifacts", "records", "vectors", "pending", "failures")
_NARROW, _COLUMNS_IF_NARROW = 60, ("artifacts", "pending")
_STYLES = {"ready": "green", "degraded": "red"}


def watch(client: Client, sample: Sample, options: argparse.Namespace) -> None:
    """Draw samples until q or an interrupt.

    While the daemon does not answer, its error is shown above the last sample.
    """
    with (
        contextlib.suppress(KeyboardInterrupt),
        _read_keys(),
        Live(screen=True, auto_refresh=False) as live,
    ):
        live.update(draw_sample(sample, live.console.width), refresh=True)
        drawn_count, seen = 1, time.monotonic()
        while drawn_count != options.count and not _wait_for_quit(options.every):
            error_text = ""
            try:
                state = client.status(profile=True).to_dict()
                sample = take_sample(state, sample, time.monotonic() - seen)
                seen = time.monotonic()
            except IRError as error:
                error_text = error.message
            live.update(draw_sample(sample, live.console.width, error_text), refresh=True)
            drawn_count += 1


def draw_sample(sample: Sample, width: int, error_text: str = "") -> RenderableType:
    """Return a sample for Rich, `width` cells wide."""
    parts: list[RenderableType] = [_draw_head(sample), Text()]
    if error_text:
        parts = [Text(spell_hidden(error_text), style="bold red"), Text()]
    parts += [_draw_corpora(sample, _COLUMNS_IF_NARROW if width < _NARROW else _COLUMNS), Text()]
    if sample.rates:
        parts += [_draw_rates(sample), Text()]
    parts += [Text(_format_job(job)) for job in sample.state["jobs"]]
    return Group(*parts, Text("q quits", style="dim"))


def _draw_head(sample: Sample) -> Text:
    state = sample.state
    memory = f", {state['rss_bytes'] / 1e6:,.0f} MB" if state.get("rss_bytes") else ""
    up = format_duration(state["uptime_s"])
    return Text(
        f"irdaemon {state['version']}, pid {state['pid']}, up {up}{memory}\n"
        f"generation {state['generation']}, queue {state['queue']}, {format_answers(sample)}"
    )


def _draw_corpora(sample: Sample, columns: Sequence[str]) -> Table:
    table = Table("corpus", "state", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right")
    for corpus in sample.state["corpora"]:
        state = corpus["state"]
        figures = (f"{corpus[column]:,}" for column in columns)
        style = _STYLES.get(state, "yellow")
        table.add_row(Text(spell_hidden(corpus["name"])), Text(state, style=style), *figures)
    return table


def _draw_rates(sample: Sample) -> Table:
    table = Table("", "", box=None, pad_edge=False)
    for column in ("a second", "p50 ms", "p95 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for rate in sample.rates:
        figures = (f"{rate.per_second:.1f}", f"{rate.p50:.1f}", f"{rate.p95:.1f}")
        table.add_row(rate.kind, Text(spell_hidden(rate.name)), *figures)
    return table


def _format_job(job: dict[str, object]) -> str:
    of = f" {job['done']:,} of {job['todo']:,}" if job["todo"] else ""
    return f"{job['kind']} {spell_hidden(str(job['corpus']))}{of}"


@contextlib.contextmanager
def _read_keys() -> Iterator[None]:
    """Read single keys without echo until the end.

    SIGTERM is an interrupt, and SIGTSTP is ignored: it would leave the screen as it is.
    """
    before = termios.tcgetattr(sys.stdin)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _wait_for_quit(within: float) -> bool:
    """Wait `within` seconds for a key; return whether it was q, or the terminal is gone."""
    deadline = time.monotonic() + within
    while (left := deadline - time.monotonic()) > 0:
        if select.select([sys.stdin], [], [], left)[0]:
            # Not through sys.stdin, which would keep further keys where select does not see them.
            keys = os.read(sys.stdin.fileno(), 64)
            if not keys or b"q" in keys.lower():
                return True
    return False
