"""Items to offer never or first: `irc mute` and `irc pin`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.cli.follow import await_jobs, choose_jobs_exit
from irclient.cli.place import choose_default_place
from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal.columns import Table, TableColumn, print_report
from irclient.terminal.help import argument, command, flag
from irclient.terminal.tables import format_moment, shorten

_EVERYWHERE = "everywhere"
_WISH = (
    TableColumn("item", least=16),
    TableColumn("where", least=10),
    TableColumn("since", optional=1),
)
_FADED = (
    TableColumn("faded item", least=16),
    TableColumn("sessions"),
    TableColumn("since", optional=1),
)

_OPTIONS = (
    argument("reference REF", "CORPUS/ID; a name will do", nargs="?", default=""),
    flag("--here", "only in the project of this directory"),
    flag("--undo", "take it back"),
)


@command(*_OPTIONS)
def mute_item(client: Client, options: argparse.Namespace) -> int:
    """Never offer an item, or list the muted items.

    Never offer an item or a copy of it: not by the prompt hook, not by `irc
    discover`, not over MCP. It stays indexed: `irc search` finds it, marked as
    muted, and `irc disclose` prints it. Without an item, list the muted items, and
    those whose offers faded: shown to ten sessions, used by none.

    examples:
    # not this one again
    irc mute skills/fill-pdf-form

    # not in this project
    irc mute skills/fill-pdf-form --here

    # take it back
    irc mute skills/fill-pdf-form --undo

    # what is muted?
    irc mute
    """
    return _prefer(client, options, "mute", "muted")


@command(*_OPTIONS)
def pin_item(client: Client, options: argparse.Namespace) -> int:
    """Offer an item first, or list the pinned items.

    Offer an item before others wherever it is likely: half of the score that an
    offer usually needs is enough. It is never offered for a prompt without a task.
    An item whose offers faded is offered again. Without an item, list the pinned
    items.

    examples:
    # this one first
    irc pin skills/fill-pdf-form

    # in this project
    irc pin skills/fill-pdf-form --here

    # take it back
    irc pin skills/fill-pdf-form --undo
    """
    return _prefer(client, options, "pin", "pinned")


def _prefer(client: Client, options: argparse.Namespace, verdict: str, done: str) -> int:
    if not options.reference:
        if options.undo or options.here:
            raise QueryError("no item is named", f"irc {verdict} REF; irc {verdict} alone lists")
        shown = (done, "faded") if verdict == "mute" else (done,)
        rows = [each for each in client.preferences() if each.verdict in shown]
        return print_report(options, rows, lambda rows: _format_list(rows, done))
    place = choose_default_place()
    asked = f"un{verdict}" if options.undo else verdict
    made = client.prefer(options.reference, asked, place, options.here)
    ended = await_jobs(client, made.jobs)
    print_report(options, made, lambda made: _format_change(made, options.undo))
    return choose_jobs_exit(ended)


def _format_change(made: Mapping[str, Any], undone: bool) -> str:
    verdict = f"no longer {made['verdict']}" if undone else made["verdict"]
    where = f"in {shorten(made['root'])}" if made["root"] else _EVERYWHERE
    ended = f"; no longer {made['replaced']}" if made["replaced"] else ""
    return f"{made['reference']}: {verdict} {where}{ended}"


def _format_list(rows: Sequence[Mapping[str, Any]], done: str) -> Iterator[str | Table]:
    wishes = [each for each in rows if each["verdict"] == done]
    faded = [each for each in rows if each["verdict"] == "faded"]
    if wishes:
        cells = [
            (each["reference"], shorten(each["root"]) or _EVERYWHERE, format_moment(each["at"]))
            for each in wishes
        ]
        yield Table(_WISH, cells)
    else:
        yield f"nothing is {done}"
    if faded:
        cells = [
            (each["reference"], each["sessions"], format_moment(each["at"]) if each["at"] else "")
            for each in faded
        ]
        yield from (Table(_FADED, cells), "irc pin REF offers one again")
