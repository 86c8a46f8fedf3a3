"""`irc add`: add a corpus."""

from __future__ import annotations

import argparse
import os
from typing import Any

from irclient.cli.follow import add_no_wait, ended_jobs, exit_of, follow
from irclient.client import Client
from irclient.terminal.exits import COMMITTED
from irclient.terminal.output import note, printed

HELP = "add a corpus: index a directory or a file and keep it indexed"
ABOUT = """
Add a corpus to the configuration file, and wait until its files are indexed. A
root that does not exist yet is indexed when it appears. A name that stands for
a found corpus (skills, packages, sessions, ...) replaces that with what is
added; alone it switches the found one on again. What is replaced is said.
"""
EXAMPLES = """
# a directory of documents
irc add notes files ~/notes

# one file
irc add todo files ~/todo.org

# the skills of a project
irc add project-skills skills ./.claude/skills

# the skills of the usual places again, after irc rm skills
irc add skills

# what would be indexed, and what not; changes nothing
irc add notes files ~/notes --dry-run

# without waiting until it is indexed
irc add --no-wait archive files ~/archive
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus' name, kind and roots."""
    parser.add_argument("name", metavar="NAME", help="the name of the new corpus")
    parser.add_argument(
        "kind",
        metavar="KIND",
        nargs="?",
        default="",
        help="skills, packages, sessions, files, ...; may be left out for a found corpus",
    )
    parser.add_argument(
        "root",
        metavar="ROOT",
        nargs="*",
        help="a directory to index; for files, sessions and mcp_tools also a single file",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only say what would be indexed, and what not"
    )
    add_no_wait(parser)


def run(client: Client, options: argparse.Namespace) -> int:
    """Add the corpus to the configuration, and follow its first scan."""
    roots = [os.path.abspath(os.path.expanduser(root)) for root in options.root]
    for root in roots:
        if not os.path.exists(root):
            note(f"irc: {root} does not exist yet; it is indexed when it appears")
    if options.dry_run:
        found = client.preview(options.name, options.kind, roots)
        printed(options, found, _previewed)
        return COMMITTED
    jobs = client.add(options.name, options.kind, roots)
    code = follow(client, jobs, options)
    if options.no_wait:  # it is scanned once it is taken up, and unknown until then
        return code
    ended = ended_jobs(client, client.build(options.name))
    held = client.info(options.name).to_dict()
    printed(options, ended, lambda ended: "\n".join(_said(each, held) for each in ended))
    return exit_of(ended)


def _said(ended: dict[str, Any], held: dict[str, Any]) -> str:
    """Return what a corpus holds after its first scan, or why that failed."""
    if ended["state"] == "failed":
        return f"{ended['corpus']}: {ended['report']}"
    said = f"{ended['corpus']}: {_counted(held['artifacts'], 'artifact')}"
    if failed := held["failures"]:
        said += f", {failed:,} failed (irc status --failures says why)"
    if passed := sum(held["skipped"].values()):
        said += f", {passed:,} passed over (irc info {ended['corpus']} says why)"
    return said


def _previewed(found: dict[str, Any]) -> str:
    """Return what a corpus would hold, a few of it, and what would be left out and why."""
    number = len(found["first"])
    lines = [f"{found['corpus']} would hold {_counted(found['items'], 'item')}"]
    lines += [f"  {name}" for name in found["first"]]
    if (more := found["items"] - number) > 0:
        lines.append(f"  and {more:,} more")
    lines += [
        f"left out: {count:,} {reason}" for reason, count in sorted(found["left_out"].items())
    ]
    lines += [f"not looked at: {problem}" for problem in found["problems"]]
    return "\n".join(lines)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
