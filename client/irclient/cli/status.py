"""The daemon: `irc status`, `ping` and `events`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator, Mapping
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
from irclient.types import TOPICS


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


@command(argument("topic TOPIC", f"only these: {', '.join(TOPICS)} (all)", nargs="*"))
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
_TIMES = ("changed_at", "indexed_at", "embedded_at", "waiting_s", "missed_events")
# Metrics that only grow; the others are gauges.
_COUNTERS = ("stage_total",)

# A metric by its name: the label of its values, "" for a single one, and the values by label.
_Metric = tuple[str, str, Iterable[tuple[str, float | None]]]


def format_prometheus(state: Mapping[str, Any]) -> str:
    """Return a status, with its profile, in the text exposition format 0.0.4."""
    lines = []
    for name, label, values in _list_metrics(state):
        samples = [(_format_label(label, of), value) for of, value in values if value is not None]
        if samples:
            kind = "counter" if name in _COUNTERS else "gauge"
            lines.append(f"# TYPE irdaemon_{name} {kind}")
        lines += [f"irdaemon_{name}{labels} {value}" for labels, value in samples]
    return "\n".join(lines)


def _list_metrics(state: Mapping[str, Any]) -> Iterator[_Metric]:
    corpora, stages = state["corpora"], state.get("profile", {}).items()
    # An older daemon does not know all of them.
    for name in ("generation", "queue", "queue_s", "uptime_s"):
        yield name, "", [("", state.get(name))]
    yield "ledger_problem", "", [("", int(bool(state.get("ledger", {}).get("problem"))))]
    for name in _COUNTS:
        yield name, "corpus", [(c["name"], c[name]) for c in corpora]
    scans = [(c["name"], c["last_reconcile"]) for c in corpora]
    yield "last_reconcile_seconds", "corpus", scans
    yield "resident_bytes", "", [("", state.get("rss_bytes"))]
    yield "stage_total", "stage", [(stage, f.get("total", 0)) for stage, f in stages]
    if health := state.get("health"):
        judged = health["corpora"]
        yield "health", "corpus", [(c["name"], _LEVELS[c["level"]]) for c in judged]
        for name in _TIMES:
            yield name, "corpus", [(c["name"], c[name]) for c in judged]
        yield "limits_exceeded", "", [("", len(health["limits"]))]
        yield "threads_stuck", "", [("", len(health["stuck"]))]
    held = [(c["name"], c["copy"]) for c in corpora if c.get("copy")]
    yield "copy_level", "corpus", [(corpus, int(c["state"] == "level")) for corpus, c in held]
    for name in ("generation", "behind_s"):
        yield f"copy_{name}", "corpus", [(corpus, copy[name]) for corpus, copy in held]
    backends = [(each["backend"], int(not each["problem"])) for each in state.get("backends") or ()]
    yield "backend_answers", "backend", backends
    for name in ("p50", "p95"):
        yield f"stage_{name}_ms", "stage", [(stage, f[name]) for stage, f in stages]


def _format_label(label: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{{label}="{escaped}"}}' if label else ""
