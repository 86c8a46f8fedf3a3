"""`irc top`: the daemon at work, as lines or on a screen."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time

from irclient.cli.rates import Sample, format_sample, take_sample
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.help import SECONDS, argument, command
from irclient.terminal.output import find_lost_output, note, print_json, print_line

# A daemon that hangs must not keep the keys from being read.
_WITHIN_S = 2.0


@command(
    argument("--every S", "refresh every S seconds (1)", type=SECONDS, default=1.0),
    argument("--count N", "end after N refreshes", type=int),
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
            from irclient.installation import make_extra_command

            note(f"irc: for a screen: {make_extra_command('terminal', 'irclient')}")
        else:
            watch(client, first, options)
            return COMMITTED
    return _print_samples(client, first, options)


def _print_samples(client: Client, current: Sample, options: argparse.Namespace) -> int:
    for number in itertools.count(1):
        if options.json:
            print_json(current.to_dict())
        else:
            print_line(format_sample(current))
        if number == options.count or find_lost_output():
            break
        seen = time.monotonic()
        time.sleep(options.every)
        state = client.status(profile=True).to_dict()
        current = take_sample(state, current, time.monotonic() - seen)
    return COMMITTED


def _is_screen() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
