"""What is indexed: `irc ls`, `info`, `records`, `artifacts`, `audit` and `coverage`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Any

from irclient.cli.place import PLACE, choose_default_place, choose_place
from irclient.cli.query import ONE_CORPUS, take_argument
from irclient.client import Client
from irclient.errors import QueryError
from irclient.terminal import tables
from irclient.terminal.columns import Table, Verbatim, print_report
from irclient.terminal.exits import COMMITTED, UNHEALTHY
from irclient.terminal.help import argument, command, flag
from irclient.terminal.hits import quote
from irclient.terminal.output import note, print_data
from irclient.terminal.width import clip, count_cells, detect_terminal

# A shorter part of a name is useless.
_LEAST_NAME = 8
_SHOWN = 20
# A walk of a large tree takes longer than any other answer.
_WITHIN_S = 600.0


@command()
def list_corpora(client: Client, options: argparse.Namespace) -> int:
    """List the corpora, with their size and state.

    List the corpora, one on each line: how many artifacts, records and vectors it
    has, how many changes are pending, and its state.

    examples:
    # what is indexed
    irc ls

    # the names alone
    irc ls --json | jq -r '.[].name'
    """
    return print_report(options, client.status().corpora, lambda it: [tables.format_corpora(it)])


@command(argument("corpus CORPUS", "its name; `irc ls` lists them"))
def describe_corpus(client: Client, options: argparse.Namespace) -> int:
    """Show the details of a corpus.

    Show the details of one corpus: its roots, its embedder, its floors (the score
    below which it gives no answer), the fields that --where can filter by, the
    kinds that --surface can name, and what was skipped.

    examples:
    # which fields can I filter by?
    irc info skills
    """
    return print_report(options, client.info(options.corpus), _format_info)


def _format_info(info: dict[str, Any]) -> Iterator[str]:
    at = info["last_reconcile"]
    told = {**info, "last_reconcile": "never" if at is None else tables.format_moment(at)}
    floors = told.pop("floors")
    yield from (f"{name}: {_format_value(value)}" for name, value in told.items())
    yield from (f"floor, {mode}: {tables.format_floor(floor)}" for mode, floor in floors.items())


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_format_value, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    return str(value)


@command(
    argument("reference CORPUS/ID", "the artifact, as answers name it"),
    PLACE,
)
def list_records(client: Client, options: argparse.Namespace) -> int:
    """List the texts of an artifact that queries are matched against.

    List the records of one artifact, in order. A record is a piece of an artifact,
    such as its description or a chunk of its text; queries are matched against
    records.

    examples:
    # how was this document split?
    irc records notes/backups.md
    """
    records = client.records(options.reference, choose_place(options))
    return print_data(
        options,
        records,
        lambda it: [f"{r['surface_index']}  {r['kind']}  {r['text'][:100]!r}" for r in it],
    )


@command(
    ONE_CORPUS,
    argument("-c CORPUS", "the same, as for discover", default=""),
    take_argument("artifacts.under", "--under PATH", "only at or below PATH"),
    take_argument("artifacts.after", "--after CORPUS/ID", "continue after this artifact"),
    take_argument("artifacts.limit", "-k N", "how many, at most 1,000 (100)"),
    PLACE,
)
def list_artifacts(client: Client, options: argparse.Namespace) -> int:
    """List the artifacts of a corpus.

    List the artifacts of one corpus or of all, ordered by reference, a page at a
    time; a line on stderr says if there are more.

    examples:
    # the first hundred skills
    irc artifacts skills

    # the next ones
    irc artifacts skills --after skills/zsh-scripts

    # what was indexed below one directory
    irc artifacts --under ~/notes/work
    """
    under = os.path.realpath(options.under) if options.under else ""
    if options.c and options.corpus not in (None, options.c):
        raise QueryError(f"two corpora, {options.corpus} and {options.c}", "name one, or none")
    corpus = options.c or options.corpus
    place = choose_place(options)
    held = client.artifacts(corpus, under, options.after, options.k, place)
    width = detect_terminal().width
    print_data(options, held, lambda held: [_format_artifact(each, width) for each in held])
    if held and len(held) >= options.k:
        last = f"{held[-1].corpus}/{held[-1].artifact_id}"
        if client.artifacts(corpus, under, last, 1, place):
            note(f"irc: there are more; go on with --after {quote(last)}")
    return COMMITTED


def _format_artifact(held: dict[str, Any], width: int) -> str:
    """Return the whole reference, and as much of the name as fits."""
    reference = f"{held['corpus']}/{held['artifact_id']}"
    room = width - count_cells(reference) - 2
    return f"{reference}  {clip(held['name'], room)}" if room >= _LEAST_NAME else reference


@command(ONE_CORPUS)
def audit_items(client: Client, options: argparse.Namespace) -> int:
    """Show how items changed since they were disclosed.

    Show the items whose text changed since it was last disclosed, with a diff
    between what an agent was given then and what it would be given now. Disclosing
    an item again takes it off the list.

    examples:
    # of every corpus
    irc audit

    # only one corpus
    irc audit skills
    """
    changed = client.audit(options.corpus)
    return print_data(options, changed, tables.format_audit)


@command(
    ONE_CORPUS,
    flag("--clashes", "list items that can be mistaken for one another instead"),
)
def measure_coverage(client: Client, options: argparse.Namespace) -> int:
    """Show which files on disk are not indexed.

    Walk the directories of one corpus, or of all, and compare the files there with
    what is indexed. The walk is independent of the one that finds what to index, so
    it also finds what that one overlooks. A file is excluded for a reason, such as
    a pattern or an ignore file, or else missing. Exit code 5 if a file is missing,
    or a directory could not be walked.

    examples:
    # is everything indexed?
    irc coverage

    # the missing files, by path
    irc coverage notes --json | jq -r '.[].missing_paths[]'

    # which skills, agents, commands and tools share a name, or say the same?
    irc coverage --clashes
    """
    if options.clashes:
        clashes = client.clashes(options.corpus, choose_default_place())
        return print_report(options, clashes, _format_clashes)
    client.timeout = max(client.timeout, _WITHIN_S)
    found = client.coverage(options.corpus)
    print_report(options, found, _format_coverage)
    whole = all(each.missing == 0 and (not each.unchecked or each.ratio is None) for each in found)
    return COMMITTED if whole else UNHEALTHY


def _format_clashes(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in found:
        same = "same name" if each["kind"] == "name" else f"share {each['share']:.0%} of words"
        yield f"{each['name']}: {same}"
        yield from (Verbatim(f"    {quote(reference)}") for reference in each["references"])
    if not found:
        yield "no clashes: no two items share a name, or say the same"


def _format_coverage(found: Sequence[dict[str, Any]]) -> Iterator[str | Table]:
    columns = ("corpus", "on disk", "indexed", "excluded", "missing", "coverage")
    rows = [
        [
            *(each["corpus"], each["on_disk"], each["indexed"]),
            sum(n for why, n in each["excluded"].items() if not why.startswith("directory: ")),
            *(each["missing"], _format_share(each["ratio"])),
        ]
        for each in found
    ]
    yield Table(columns, rows) if rows else "no corpora"
    for each in found:
        yield from _explain_coverage(each)


def _format_share(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    # Anything below 1 must not be rounded to 100%.
    return f"{min(ratio, 0.999):.1%}" if ratio < 1 else "100%"


def _explain_coverage(each: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about one corpus below the table."""
    name, missing = each["corpus"], each["missing"]
    if each["unchecked"]:
        yield f"{name}: {each['unchecked']}"
    yield from (f"{name}: left out: {why} {n:,}" for why, n in each["excluded"].items())
    yield from (f"{name}: missing: {path}" for path in each["missing_paths"][:_SHOWN])
    if missing > _SHOWN:
        yield f"{name}: missing: {missing - _SHOWN:,} more; --json lists them"
    if missing:
        yield f"{name}: irc build {name} looks for them again"
