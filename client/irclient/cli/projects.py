"""Projects: `irc here` and `irc projects`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.cli.place import find_directory
from irclient.cli.query import Act
from irclient.client import Client
from irclient.counts import format_count
from irclient.results import ProjectRow
from irclient.terminal.columns import Report, Table, TableColumn, Verbatim, print_report
from irclient.terminal.exits import ABSTAINED, COMMITTED
from irclient.terminal.help import argument, command
from irclient.terminal.hits import quote
from irclient.terminal.output import print_data
from irclient.terminal.tables import format_age, format_moment, shorten

_PROJECT = (
    TableColumn("name", least=10),
    TableColumn("state"),
    TableColumn("items"),
    TableColumn("size", optional=2),
    TableColumn("asked", optional=1),
    TableColumn("why", optional=3, least=10),
    TableColumn("root", least=14),
)
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


@command(argument("directory DIR", "a directory (this one)", nargs="?", default=""))
def show_project(client: Client, options: argparse.Namespace) -> int:
    """Show the project that contains a directory.

    Show the project that contains a directory: what marks it as one, which parts
    are indexed and how fresh they are, what is left out and why, and what answers
    there showed last. Items of a project are found only from inside it. Exit code 1
    if the directory is in no project.

    examples:
    # which project am I in, and what of it is indexed?
    irc here

    # another project
    irc here ~/code/shop

    # its root, for a script
    irc here --json | jq -r .root
    """
    place = find_directory(options.directory, "irc here")
    found = client.here(place)
    print_report(options, found, lambda found: _format_here(found, place))
    return COMMITTED if found.project else ABSTAINED


def _format_here(found: Mapping[str, Any], place: str) -> Iterator[str | Table]:
    if not found["project"]:
        yield f"{shorten(place)} is in no project: {found['reason']}"
        return
    state = ": still being read" if found["reading"] else ""
    yield f"{found['project']}, {shorten(found['root'])}{state}"
    for name in ("marks", "ecosystems"):
        if found[name]:
            yield f"{name}: {', '.join(found[name])}"
    if found["corpora"]:
        yield Table(("corpus", "items", "indexed"), map(_list_cells, found["corpora"]))
    yield from (f"note: {each}" for each in found["notes"])
    yield from (Verbatim(f"lately: {quote(each)}") for each in found["lately"])


def _list_cells(corpus: Mapping[str, Any]) -> tuple[str, int, str]:
    at = corpus["indexed_at"]
    when = "not yet" if at is None else f"{format_age(at)} ago"
    return corpus["corpus"], corpus["items"], "being read" if corpus["reading"] else when


@command(unless="list, if none is given")
def manage_projects(client: Client, options: argparse.Namespace) -> int:
    """List the known projects, read one, or forget one.

    List the known projects, the most recently used first, with how much of each is
    indexed and why it is known. The state `listed` means that only sessions mention
    the project: it is read when it is first asked from, or when you add it.

    examples:
    # which of my projects are read?
    irc projects

    # read one before its first query
    irc projects add ~/code/shop

    # forget everything about it
    irc projects forget ~/code/shop
    """
    if options.action:
        act: Act = options.act
        return act(client, options)
    return print_report(options, client.projects(), format_projects)


def format_projects(found: Sequence[Mapping[str, Any]]) -> Report:
    """Return one row for each project."""
    if not found:
        return "no projects are known; ask from one, or: irc projects add DIR"
    rows = [
        (
            each["name"],
            each["state"],
            each["items"],
            _format_size(each["size_bytes"]),
            f"{format_age(each['asked_at'])} ago" if each["asked_at"] else "never",
            each["why"],
            shorten(each["root"]),
        )
        for each in found
    ]
    return [Table(_PROJECT, rows)]


def _format_size(size: int) -> str:
    for unit, length in _UNITS:
        if size >= length:
            return f"{size / length:,.1f} {unit}"
    return f"{size:,} B"


@manage_projects.action("add", argument("directory DIR", "a directory in the project"))
def _add(client: Client, options: argparse.Namespace) -> int:
    """Read a project, and keep it indexed."""
    added = client.add_project(find_directory(options.directory, "irc projects add"))
    return print_data(options, added, _format_added)


def _format_added(row: Mapping[str, Any]) -> str:
    if row["state"] == "read":
        return f"{row['name']}: {format_count(row['items'], 'item')}"
    return f"{row['name']} is being read; irc here {quote(row['root'])} shows its progress"


@manage_projects.action("forget", argument("directory DIR", "a directory in it, or where it was"))
def _forget(client: Client, options: argparse.Namespace) -> int:
    """Forget everything about a project, until it is asked from again."""
    place = find_directory(options.directory, "", must_exist=False)
    row: ProjectRow = client.forget_project(place)
    return print_data(
        options,
        row,
        lambda row: f"forgot {row['name']}: {format_count(row['items'], 'item')}",
    )


def format_reads(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield for each directory why it is read, since when, and how to stop it."""
    for each in found:
        yield Verbatim(shorten(each["path"]))
        since = f", since {format_moment(each['since'])}" if each["since"] else ""
        yield f"  {each['why']}{since}; to stop it:"
        yield Verbatim(f"    {each['how_to_end']}")
    if not found:
        yield "no directory is read"
