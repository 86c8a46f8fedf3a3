"""The screen of `irc top`: drawn by Rich, left by q or Ctrl-C, the terminal put back as it was."""

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

from irclient.cli.rates import Look, look_at
from irclient.cli.summary import answers
from irclient.client import Client
from irclient.errors import IRError
from irclient.invisible import spelled
from irclient.terminal.status import duration

_COLUMNS = ("artifacts", "records", "vectors", "pending", "failures")
_NARROW, _COLUMNS_IF_NARROW = 60, ("artifacts", "pending")
_STYLES = {"ready": "green", "degraded": "red"}


def watch(client: Client, look: Look, options: argparse.Namespace) -> None:
    """Draw look after look until a key or an interrupt ends it.

    A daemon that goes away is said so above the last look; the screen goes on with the next one.
    """
    with (
        contextlib.suppress(KeyboardInterrupt),
        _keys(),
        Live(screen=True, auto_refresh=False) as live,
    ):
        live.update(drawn(look, live.console.width), refresh=True)
        looks, seen = 1, time.monotonic()
        while looks != options.count and not _told_to_quit(options.every):
            trouble = ""
            try:
                state = client.status(profile=True).to_dict()
                look = look_at(state, look, time.monotonic() - seen)
                seen = time.monotonic()
            except IRError as error:
                trouble = error.message
            live.update(drawn(look, live.console.width, trouble), refresh=True)
            looks += 1


def drawn(look: Look, width: int, trouble: str = "") -> RenderableType:
    """Return a look as what Rich draws, on so many cells a line."""
    parts: list[RenderableType] = [_head(look), Text()]
    if trouble:
        parts = [Text(spelled(trouble), style="bold red"), Text()]
    parts += [_corpora(look, _COLUMNS_IF_NARROW if width < _NARROW else _COLUMNS), Text()]
    if look.rates:
        parts += [_rates(look), Text()]
    parts += [Text(_job(job)) for job in look.state["jobs"]]
    return Group(*parts, Text("q quits", style="dim"))


def _head(look: Look) -> Text:
    state = look.state
    memory = f", {state['rss_bytes'] / 1e6:,.0f} MB" if state.get("rss_bytes") else ""
    up = duration(state["uptime_s"])
    return Text(
        f"irdaemon {state['version']}, pid {state['pid']}, up {up}{memory}\n"
        f"generation {state['generation']}, queue {state['queue']}, {answers(look)}"
    )


def _corpora(look: Look, columns: Sequence[str]) -> Table:
    table = Table("corpus", "state", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right")
    for corpus in look.state["corpora"]:
        state = corpus["state"]
        figures = (f"{corpus[column]:,}" for column in columns)
        style = _STYLES.get(state, "yellow")
        table.add_row(Text(spelled(corpus["name"])), Text(state, style=style), *figures)
    return table


def _rates(look: Look) -> Table:
    table = Table("", "", box=None, pad_edge=False)
    for column in ("a second", "p50 ms", "p95 ms"):
        table.add_column(column, justify="right", no_wrap=True)
    for rate in look.rates:
        figures = (f"{rate.per_second:.1f}", f"{rate.p50:.1f}", f"{rate.p95:.1f}")
        table.add_row(rate.kind, Text(spelled(rate.name)), *figures)
    return table


def _job(job: dict[str, object]) -> str:
    of = f" {job['done']:,} of {job['todo']:,}" if job["todo"] else ""
    return f"{job['kind']} {spelled(str(job['corpus']))}{of}"


@contextlib.contextmanager
def _keys() -> Iterator[None]:
    """Let single keys be read, unseen, until the end.

    Being told to end is an interrupt, and being told to pause is ignored: the screen would stay.
    """
    before = termios.tcgetattr(sys.stdin)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _told_to_quit(within: float) -> bool:
    """Wait so many seconds for a key; say whether it was q, or the terminal is gone."""
    deadline = time.monotonic() + within
    while (left := deadline - time.monotonic()) > 0:
        if select.select([sys.stdin], [], [], left)[0]:
            # Not through sys.stdin, which would keep further keys where select does not see them.
            keys = os.read(sys.stdin.fileno(), 64)
            if not keys or b"q" in keys.lower():
                return True
    return False
