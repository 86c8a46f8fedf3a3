"""Change what is indexed: `irc add`, `rm`, `build`, `maintain`, `hint` and `wait`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from irclient.cli.follow import NO_WAIT, await_jobs, choose_jobs_exit, follow
from irclient.cli.query import ONE_CORPUS, WAIT
from irclient.client import Client
from irclient.counts import format_count
from irclient.terminal.columns import Report, Table, print_report
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irclient.terminal.output import note, print_data


@command(
    argument("name NAME", "the name of the new corpus"),
    argument(
        "kind KIND",
        "skills, packages, sessions, files, ...; optional for an automatic corpus",
        nargs="?",
        default="",
    ),
    argument(
        "root ROOT",
        "a directory to index, or, for files, sessions and mcp_tools, a single file",
        nargs="*",
        default=(),
    ),
    flag("--dry-run", "only show what would be indexed, and what not"),
    NO_WAIT,
)
def add_corpus(client: Client, options: argparse.Namespace) -> int:
    """Add a corpus: index a directory or a file and keep it indexed.

    Add a corpus to the configuration file, and wait until its files are indexed. A
    root that does not exist is refused. A name that stands for a found corpus
    (skills, packages, sessions, ...) replaces that with what is added; alone it
    switches the found one on again. What is replaced is said.

    examples:
    # a directory of documents
    irc add notes files ~/notes

    # one file
    irc add todo files ~/todo.org

    # the skills of a project
    irc add project-skills skills ./.claude/skills

    # the skills of the usual places again, after irc rm skills
    irc add skills

    # show what would be indexed, and what not, without changing anything
    irc add notes files ~/notes --dry-run

    # without waiting until it is indexed
    irc add --no-wait archive files ~/archive
    """
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]
    if options.dry_run:
        found = client.preview(options.name, options.kind, roots)
        print_data(options, found, _format_preview)
        return COMMITTED
    jobs = client.add(options.name, options.kind, roots)
    code = follow(client, jobs, options)
    if options.no_wait:  # the corpus is unknown until the daemon has applied the change
        return code
    ended = await_jobs(client, client.build(options.name))
    held = client.info(options.name).to_dict()
    print_data(options, ended, lambda ended: [_describe_added(each, held) for each in ended])
    return choose_jobs_exit(ended)


def _describe_added(ended: dict[str, Any], held: dict[str, Any]) -> str:
    """Return what a corpus contains after its first scan, or why that failed."""
    if ended["state"] == "failed":
        return f"{ended['corpus']}: {ended['report']}"
    said = f"{ended['corpus']}: {format_count(held['artifacts'], 'artifact')}"
    if failed := held["failures"]:
        said += f", {failed:,} failed (irc status --failures says why)"
    if passed := sum(held["skipped"].values()):
        said += f", {passed:,} skipped (irc info {ended['corpus']} says why)"
    return said


def _format_preview(found: dict[str, Any]) -> str:
    """Return how many items a corpus would contain, the first few, and what is left out."""
    number = len(found["first"])
    lines = [f"{found['corpus']} would hold {format_count(found['items'], 'item')}"]
    lines += [f"  {name}" for name in found["first"]]
    if (more := found["items"] - number) > 0:
        lines.append(f"  and {more:,} more")
    lines += [
        f"left out: {count:,} {reason}" for reason, count in sorted(found["left_out"].items())
    ]
    lines += [f"not looked at: {problem}" for problem in found["problems"]]
    return "\n".join(lines)


@command(
    argument("name CORPUS", "its name; `irc ls` lists them"),
    NO_WAIT,
)
def remove_corpus(client: Client, options: argparse.Namespace) -> int:
    """Remove a corpus from the configuration and the index.

    Remove a corpus from the configuration file and the index. The files themselves
    are not touched. An automatic corpus is switched off until `irc add NAME`.

    examples:
    # stop indexing my notes
    irc rm notes
    """
    return follow(client, client.rm(options.name), options)


@command(
    ONE_CORPUS,
    flag("--full", "read every entry again, changed or not"),
    flag("--prune", "delete the items of roots that are missing or empty"),
    NO_WAIT,
)
def build_corpora(client: Client, options: argparse.Namespace) -> int:
    """Scan one corpus, or all, for changes now.

    Scan one corpus, or all, for changes, and wait until they are indexed. This is
    seldom needed: changes are detected as they happen, and every corpus is scanned
    four times an hour.

    examples:
    # scan everything
    irc build

    # read every entry of one corpus again
    irc build --full notes

    # a directory is gone for good: delete what was indexed of it
    irc build --prune notes
    """
    jobs = client.build(options.corpus, options.full, options.prune)
    return follow(client, jobs, options)


@command(
    ONE_CORPUS,
    flag("--dry-run", "only show what is due, and why"),
    NO_WAIT,
)
def maintain_corpora(client: Client, options: argparse.Namespace) -> int:
    """Do the maintenance that is due, or show it.

    Do the maintenance that is due for one corpus, or for all: scans, missing
    vectors, new floors, and the compaction of the ledger. This is seldom needed:
    the daemon does it in time. Periodic scans and compaction wait for the quiet
    hours; a corpus that is indexed by hand is never due. Exit code 5 if a task
    failed.

    examples:
    # what would be done now, and why
    irc maintain --dry-run

    # one corpus
    irc maintain notes
    """
    tasks = client.maintain(options.corpus, options.dry_run)
    jobs = [task.job for task in tasks if task.job]
    ended = [] if options.no_wait else await_jobs(client, jobs)
    print_report(options, tasks, lambda tasks: _format_tasks(tasks, options.dry_run))
    for each in ended:
        if each.state == "failed":
            note(f"irc: {each.kind} {each.corpus}: {each.report}")
    return choose_jobs_exit(ended) if ended else COMMITTED


def _format_tasks(tasks: Sequence[dict[str, Any]], dry_run: bool) -> Report:
    rows = [
        [task["corpus"] or "all", task["work"], _name_state(task, dry_run), task["reason"]]
        for task in tasks
    ]
    return [Table(("corpus", "work", "", "why"), rows)] if rows else "no corpora"


def _name_state(task: dict[str, Any], dry_run: bool) -> str:
    if not task["due"]:
        return "not due"
    return "due" if dry_run else f"job {task['job']}"


@command(
    argument("path PATH", "a file or directory below a corpus' root"),
    NO_WAIT,
)
def hint_change(client: Client, options: argparse.Namespace) -> int:
    """Scan one file or directory for changes now.

    Report that a file has changed: every corpus with a root above it scans it now,
    without waiting for the kernel's notification. For editors and scripts on file
    systems that report no changes.

    examples:
    # after writing to a network mount
    irc hint /mnt/team/skills/release/SKILL.md
    """
    return follow(client, client.hint(os.path.abspath(options.path)), options)


@command(
    argument("generation GENERATION", "its number, from an answer or an event", type=int),
    WAIT,
)
def await_generation(client: Client, options: argparse.Namespace) -> int:
    """Wait until a change is served.

    Wait until a generation, or a later one, is served. A generation numbers a state
    of the index; answers and events carry it. Exit code 5 if the time is up.

    examples:
    # at most five seconds
    irc wait 42 --wait-ms 5000
    """
    state = client.wait(options.generation, options.wait_ms)
    print_data(options, state, lambda state: f"generation {state['generation']}")
    if state.reached:
        return COMMITTED
    note(f"irc: the time is up, and generation {options.generation} is not served yet")
    note("     --wait-ms N waits longer; each change of what is indexed raises the number")
    return UNHEALTHY
