"""Let an agent write expected prompts: `irc prompts write`, `batch` and `hand-in`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from irclient.cli.query import read_source
from irclient.client import Client
from irclient.counts import format_count
from irclient.errors import QueryError
from irclient.invisible import make_safe
from irclient.terminal.columns import Table, fit_report, print_report
from irclient.terminal.exits import COMMITTED, UNHEALTHY, UNKNOWN, WRONG
from irclient.terminal.help import Command, add_exclusive, argument, flag
from irclient.terminal.output import ProgressLine, note, note_text, print_data
from irclient.terminal.width import detect_terminal

WRITERS = ("claude", "codex", "models")
_POLL_S = 0.3
_YES = ("y", "yes")


def add_writing(prompts: Command) -> None:
    """Add the actions for writing prompts to the command `irc prompts`."""
    prompts.action(
        "write",
        argument("corpus CORPUS", "of these (all but sessions, notes)", nargs="*"),
        argument(
            "--with WRITER",
            "claude or codex, run as a command, or models: the endpoint of [models] (claude)",
            dest="writer",
            choices=WRITERS,
            default="claude",
        ),
        argument("--budget TOKENS", "spend at most about TOKENS", type=int, default=0),
        flag("--yes", "do not ask"),
        flag("--no-wait", "return at once; irc status shows the progress"),
        add_exclusive(
            flag("--pause", "pause writing"),
            flag("--resume", "resume writing"),
            flag("--stop", "stop writing; what was written stays"),
        ),
    )(_write)
    prompts.action(
        "batch",
        argument("corpus CORPUS", "of this corpus", nargs="?", default=None),
        argument("--limit N", "of at most N items (10)", type=int, default=10),
    )(_show_batch)
    prompts.action(
        "hand-in",
        argument("batch BATCH", "the number that irc prompts batch printed"),
        argument("file FILE", "lines of JSON (stdin)", nargs="?", default="-"),
    )(_hand_in)


def _write(client: Client, options: argparse.Namespace) -> int:
    """Let an agent write the prompts that items need, after asking you."""
    for change in ("pause", "resume", "stop"):
        if getattr(options, change):
            run = client.prompts_writing(change)
            print_report(options, run, format_writing)
            if change == "resume" and not options.no_wait:
                return _follow(client, options)
            return COMMITTED
    plan = client.prompts_plan(options.corpus, options.writer)
    if plan.problem:
        raise QueryError(plan.problem, "irc prompts write --with names another writer")
    if not plan.items:
        print_data(options, plan, lambda plan: "no item needs prompts: all have some")
        return UNKNOWN
    if not options.yes:
        print_report(options, plan, format_plan)
        if options.json or not _may_ask():
            note("irc: nothing was sent or written; --yes starts without asking")
            return WRONG
        if not _agree():
            return COMMITTED
    named = options.corpus or [each["corpus"] for each in plan.corpora]
    run = client.prompts_write(named, options.writer, options.budget or plan.budget)
    if options.no_wait:
        print_report(options, run, format_writing)
        return COMMITTED
    return _follow(client, options)


def _may_ask() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _agree() -> bool:
    """Ask the person at the terminal whether to start."""
    try:
        return input("send that, and let it write them? [y/N] ").strip().lower() in _YES
    except EOFError:
        return False


def _follow(client: Client, options: argparse.Namespace) -> int:
    """Wait until writing ends, drawing its progress."""
    line = ProgressLine()
    try:
        while (run := client.prompts_writing()).state == "running":
            line.draw(f"{run.writer} {run.spent:,} tokens", run.written + run.left, run.items)
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        line.clear()
        note("irc: writing goes on; irc prompts write --pause pauses it")
        raise
    line.clear()
    print_report(options, run, format_writing)
    return COMMITTED if run.state == "done" and not run.left else UNHEALTHY


def note_writing(client: Client, options: argparse.Namespace) -> None:
    """Print the progress of writing, unless it is done."""
    run = client.prompts_writing()
    if not options.json and run.state not in ("none", "done"):
        note_text(fit_report(format_writing(make_safe(run.to_dict())), detect_terminal().width))


def format_plan(plan: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield what would be sent to whom, and about how many tokens that takes."""
    rows = [(each["corpus"], each["items"], each["outdated"]) for each in plan["corpora"]]
    yield Table(("corpus", "items", "rewritten"), rows)
    yield (
        f"{format_count(plan['items'], 'item')}, about {plan['tokens']:,} tokens"
        f" (at most {plan['budget']:,}), by {plan['writer']}: {plan['where']}"
    )
    yield (
        "it is sent the name, the description and the first 1,500 characters of each item,"
        " without secrets"
    )


def format_writing(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the progress of writing."""
    if told["state"] == "none":
        yield "no prompts are being written; irc prompts write starts"
        return
    why = f": {told['reason']}" if told["reason"] else ""
    yield (
        f"prompts by {told['writer']}: {told['state']}{why}; {told['written']:,} of"
        f" {format_count(told['items'], 'item')}, {format_count(told['prompts'], 'prompt')},"
        f" about {told['spent']:,} of {told['budget']:,} tokens"
    )
    if told["left"]:
        yield f"given up after two failed answers: {told['left']:,}"
    if dropped := told["dropped"]:
        yield f"dropped: {_format_dropped(dropped)}"


def _format_dropped(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{why} {count:,}" for why, count in sorted(dropped.items()))


def _show_batch(client: Client, options: argparse.Namespace) -> int:
    """Print a request for the prompts of a few items, for the agent at work."""
    batch = client.prompts_wanting(options.corpus, options.limit)
    print_data(options, batch, _format_batch)
    return COMMITTED if batch.items else UNKNOWN


def _format_batch(batch: Mapping[str, Any]) -> Iterator[str]:
    if not batch["items"]:
        yield "no item needs prompts"
        return
    yield f"batch {batch['batch']}; {format_count(batch['waiting'], 'more item', 'waits')}"
    yield f"hand in the answer: irc prompts hand-in {batch['batch']} < FILE"
    yield ""
    yield str(batch["request"])


def _hand_in(client: Client, options: argparse.Namespace) -> int:
    """Hand in the answer to a batch."""
    answer = read_source(options.file).decode("utf-8", "replace")
    taken = client.prompts_hand_in(options.batch, answer)
    print_data(options, taken, _format_taken)
    return COMMITTED if not taken.missing else UNHEALTHY


def _format_taken(taken: Mapping[str, Any]) -> Iterator[str]:
    prompts, items = taken["prompts"], taken["items"]
    yield f"taken: {format_count(prompts, 'prompt')} of {format_count(items, 'item')}"
    if taken["dropped"]:
        yield f"dropped: {_format_dropped(taken['dropped'])}"
    if taken["missing"]:
        yield f"without any: {', '.join(taken['missing'])}"
