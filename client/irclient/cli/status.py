"""The daemon: `irc status`, `ping` and `events`."""

from __future__ import annotations

import argparse
import os
import time

from irclient.agents.install.entries import may_be_gone
from irclient.client import Client
from irclient.invisible import make_safe
from irclient.terminal import tables
from irclient.terminal.exits import COMMITTED, choose_status_exit
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import find_lost_output, note, print_data, print_json, print_text
from irclient.terminal.width import detect_terminal


@command(
    flag("--failures", "list what could not be read, and why"),
    flag("--secrets", "list where credentials stand in the indexed files"),
    flag("--profile", "add how long each stage takes"),
    flag("--prometheus", "print metrics for Prometheus"),
)
def show_status(client: Client, options: argparse.Namespace) -> int:
    """Show whether the daemon and every corpus are healthy.

    Show how the daemon and its corpora are: the generation that is served, the jobs
    in the queue, the size of each corpus, and every problem. `irc top` shows it
    live. Exit code 5 if a corpus is stale (behind its files) or offline (a root is
    missing or cannot be watched).

    examples:
    # is everything up to date?
    irc status

    # what could not be read, and why
    irc status --failures

    # where the time goes
    irc status --profile

    # for monitoring
    irc status --prometheus
    """
    if options.failures:
        failures = client.failures()
        print_data(options, failures, tables.format_failures)
    elif options.secrets:
        secrets = client.secrets()
        print_data(options, secrets, tables.format_secrets)
    elif options.prometheus:
        from irclient.cli.prometheus import format_prometheus

        print_text(format_prometheus(make_safe(client.status(profile=True).to_dict())))
    else:
        state = client.status(options.profile).to_dict()
        print_data(
            options, state, lambda found: tables.format_status(found, detect_terminal().width)
        )
        _note_missing_hooks()
        return choose_status_exit(state)
    return COMMITTED


def _note_missing_hooks() -> None:
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = "/"
    if may_be_gone(os.path.expanduser("~"), cwd, os.environ):
        from irclient.agents.install.targets import find_missing_hooks

        for missing in find_missing_hooks():
            note(f"irc: {missing}; {missing.fix} writes it again")


@command()
def ping_daemon(client: Client, options: argparse.Namespace) -> int:
    """Check that the daemon answers.

    Check that the daemon answers; print its version and how long it took.

    examples:
    # is it there?
    irc ping

    # for a script that cannot wait
    irc ping --timeout 0.5 --json
    """
    started = time.perf_counter()
    pong = client.ping()
    took = (time.perf_counter() - started) * 1e3
    return print_data(
        options, pong, lambda it: f"irdaemon {it['version']}, pid {it['pid']}, {took:.1f} ms"
    )


@command(
    argument(
        "topic",
        nargs="*",
        metavar="TOPIC",
        help="only these: generation, job, failure, evaluation (all)",
    ),
)
def print_events(client: Client, options: argparse.Namespace) -> int:
    """Print what the daemon does, as it happens.

    Print the daemon's events, one JSON object a line, until interrupted: a new
    `generation` of the index, an ended `job`, a `failure` to read an entry, how far
    an `evaluation` is. `lost` reports that the daemon went away, `back` that it is
    there again.

    examples:
    # everything
    irc events

    # only published changes
    irc events generation

    # wait for the next failure
    irc events failure | head -1
    """
    client.ping()
    for topic, data in client.events(options.topic):
        print_json({"event": topic, **data})
        if find_lost_output():
            break
    return COMMITTED
