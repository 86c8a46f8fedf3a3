"""The daemon: `irc status`, `ping` and `events`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.agents.install.entries import may_be_gone
from irclient.client import Client
from irclient.errors import QueryError
from irclient.invisible import make_safe
from irclient.nearest import did_you_mean
from irclient.terminal import tables
from irclient.terminal.columns import print_report
from irclient.terminal.exits import COMMITTED, choose_status_exit
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import find_lost_output, note, print_data, print_json, print_text

TOPICS = ("generation", "job", "failure", "evaluation")


@command(
    flag("--failures", "list what could not be read, and why"),
    flag("--secrets", "list where indexed files contain credentials"),
    flag("--reads", "list every directory that is read, why, and how to stop it"),
    flag("--profile", "add how long each stage takes"),
    flag("--prometheus", "print metrics for Prometheus"),
)
def show_status(client: Client, options: argparse.Namespace) -> int:
    """Show whether the daemon and every corpus are healthy.

    Show the state of the daemon and its corpora: the served generation, the jobs in
    the queue, the size of each corpus, and every problem. `irc top` shows it live.
    Exit code 5 if a corpus is stale (behind its files) or offline (a root is
    missing or cannot be watched).

    examples:
    # is everything up to date?
    irc status

    # what could not be read, and why
    irc status --failures

    # which directories are read, and how to stop it
    irc status --reads

    # where the time goes
    irc status --profile

    # for monitoring
    irc status --prometheus
    """
    if options.failures:
        return print_data(options, client.failures(), tables.format_failures)
    if options.secrets:
        return print_data(options, client.secrets(), tables.format_secrets)
    if options.reads:
        from irclient.cli.projects import format_reads

        return print_report(options, client.reads(), format_reads)
    if options.prometheus:
        print_text(format_prometheus(make_safe(client.status(profile=True).to_dict())))
        return COMMITTED
    state = client.status(options.profile).to_dict()
    print_report(options, state, tables.format_status)
    _note_missing_hooks()
    return choose_status_exit(state)


def _note_missing_hooks() -> None:
    try:
        cwd = os.getcwd()
    except OSError:  # it was removed
        cwd = "/"
    if may_be_gone(os.path.expanduser("~"), cwd, os.environ):
        from irclient.agents.install.targets import find_missing_hooks

        for missing in find_missing_hooks():
            note(f"irc: {missing}; {missing.fix} repairs it")


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
        help=f"only these: {', '.join(TOPICS)} (all)",
    ),
)
def print_events(client: Client, options: argparse.Namespace) -> int:
    """Print the daemon's events as they happen.

    Print the daemon's events, one JSON object on each line, until interrupted: a
    new `generation` of the index, a finished `job`, a `failure` to read an entry,
    the progress of an `evaluation`. `lost` means that the daemon went away, `back`
    that it has returned.

    examples:
    # everything
    irc events

    # only published changes
    irc events generation

    # wait for the next failure
    irc events failure | head -1
    """
    for topic in options.topic:
        if topic not in TOPICS:
            near = did_you_mean(topic, TOPICS)
            raise QueryError(f"unknown topic {topic!r}{near}", f"topics: {', '.join(TOPICS)}")
    client.ping()
    for topic, data in client.events(options.topic):
        print_json({"event": topic, **data})
        if find_lost_output():
            break
    return COMMITTED


# The status in the format of Prometheus. prometheus_client is made for programs that count in their
# own process; using it would take more code, and add a dependency.

_LEVELS = {"ok": 0, "stale": 1, "offline": 2}
_COUNTS = ("artifacts", "records", "vectors", "failures", "pending")


def format_prometheus(state: Mapping[str, Any]) -> str:
    """Return a status, with its profile, in the text exposition format 0.0.4."""
    return "\n".join(_format_lines(state))


def _format_lines(state: Mapping[str, Any]) -> Iterator[str]:
    for name in ("generation", "queue", "queue_s", "uptime_s"):
        if name not in state:
            continue  # from an older daemon
        yield from _format_gauge(f"irdaemon_{name}", [("", state[name])])
    problem = int(bool(state.get("ledger", {}).get("problem")))
    yield from _format_gauge("irdaemon_ledger_problem", [("", problem)])
    for count in _COUNTS:
        of_corpora = [(_format_label("corpus", c["name"]), c[count]) for c in state["corpora"]]
        yield from _format_gauge(f"irdaemon_{count}", of_corpora)
    scans = [
        (_format_label("corpus", c["name"]), c["last_reconcile"])
        for c in state["corpora"]
        if c["last_reconcile"] is not None
    ]
    yield from _format_gauge("irdaemon_last_reconcile_seconds", scans)
    if (resident := state.get("rss_bytes")) is not None:
        yield from _format_gauge("irdaemon_resident_bytes", [("", resident)])
    totals = [
        (_format_label("stage", n), f.get("total", 0)) for n, f in state.get("profile", {}).items()
    ]
    yield from _format_figures("irdaemon_stage_total", "counter", totals)
    if "health" in state:
        yield from _format_health(state["health"])
    yield from _format_copies(state)
    for quantile in ("p50", "p95"):
        stages = [
            (_format_label("stage", n), f[quantile]) for n, f in state.get("profile", {}).items()
        ]
        yield from _format_gauge(f"irdaemon_stage_{quantile}_ms", stages)


def _format_copies(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the state of the copies in backends, and whether a front end's backends answer."""
    held = [
        (_format_label("corpus", c["name"]), c["copy"]) for c in state["corpora"] if c.get("copy")
    ]
    level = [(corpus, int(copy["state"] == "level")) for corpus, copy in held]
    yield from _format_gauge("irdaemon_copy_level", level)
    for name in ("generation", "behind_s"):
        yield from _format_gauge(
            f"irdaemon_copy_{name}", [(label, copy[name]) for label, copy in held]
        )
    heard = [
        (_format_label("backend", each["backend"]), int(not each["problem"]))
        for each in state.get("backends") or ()
    ]
    yield from _format_gauge("irdaemon_backend_answers", heard)


def _format_health(health: Mapping[str, Any]) -> Iterator[str]:
    """Yield the level of each corpus (0 ok, 1 stale, 2 offline) and the age of its index."""
    corpora = health["corpora"]
    levels = [(_format_label("corpus", c["name"]), _LEVELS[c["level"]]) for c in corpora]
    yield from _format_gauge("irdaemon_health", levels)
    for name in ("changed_at", "indexed_at", "embedded_at", "waiting_s", "missed_events"):
        known = [
            (_format_label("corpus", c["name"]), c[name]) for c in corpora if c[name] is not None
        ]
        yield from _format_gauge(f"irdaemon_{name}", known)
    yield from _format_gauge("irdaemon_limits_exceeded", [("", len(health["limits"]))])
    yield from _format_gauge("irdaemon_threads_stuck", [("", len(health["stuck"]))])


def _format_gauge(name: str, samples: Sequence[tuple[str, float]]) -> Iterator[str]:
    return _format_figures(name, "gauge", samples)


def _format_figures(name: str, kind: str, samples: Sequence[tuple[str, float]]) -> Iterator[str]:
    if samples:
        yield f"# TYPE {name} {kind}"
    yield from (f"{name}{labels} {value}" for labels, value in samples)


def _format_label(name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{{name}="{escaped}"}}'
