"""Expected prompts: `irc prompts`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irclient.cli.follow import NO_WAIT, await_jobs, choose_jobs_exit, follow
from irclient.cli.place import PLACE, choose_place
from irclient.cli.prompts_write import add_writing, note_writing
from irclient.cli.query import Act, open_source, take_argument
from irclient.client import Client
from irclient.counts import format_count
from irclient.prompts import PROVENANCES, GivenPrompts, LineProblem, read_lines
from irclient.results import ExportedPrompts
from irclient.terminal.columns import Report, Table, TableColumn, print_report
from irclient.terminal.exits import UNHEALTHY, WRONG
from irclient.terminal.help import Add, argument, command
from irclient.terminal.output import dump_safe_json, note, print_data

# The most lines, texts and bytes of a request.
_PART_LINES, _PART_TEXTS, _PART_BYTES = 500, 20_000, 1_000_000
_PAGE = 10_000
_HELD = (
    TableColumn("corpus", least=8),
    TableColumn("from"),
    TableColumn("items"),
    TableColumn("prompts"),
    TableColumn("near misses", optional=2),
    TableColumn("outdated", optional=1),
    TableColumn("", least=14),
)
_CORPUS = argument("-c --corpus CORPUS", "only this corpus (all)")
_PART = argument("--here DIR", "only the project there", default="")


def _add_provenance(op: str, meaning: str) -> Add:
    return take_argument(f"{op}.provenance", "--provenance FROM", meaning, choices=PROVENANCES)


@command(unless="list, if none is given")
def manage_prompts(client: Client, options: argparse.Namespace) -> int:
    """List, import and remove the prompts that items are expected to answer.

    An expected prompt is what a person who needs an item without knowing it would
    type. Its words and meaning count in searches for the item, and no answer shows
    it. Prompts come from an item's author, a pack, you, an agent, or use
    (docs/prompts.md). FROM is author, pack, person, agent or use.

    examples:
    # which corpora have some, from whom, and do they count?
    irc prompts

    # the prompts of one item
    irc prompts list skills/fill-pdf-form

    # import some; a line is {"name": "pdf", "prompts": ["sign a contract"]}
    irc prompts import prompts.jsonl -c skills

    # export them, to edit or to keep them
    irc prompts export -c skills > prompts.jsonl

    # let claude write some: what would that cost?
    irc prompts write skills --with claude

    # undo the last import, or remove all
    irc prompts rollback -c skills
    irc prompts forget -c skills
    """
    if options.action:
        act: Act = options.act
        return act(client, options)
    options.item, options.corpus, options.here, options.everywhere = "", None, "", False
    code = _list(client, options)
    note_writing(client, options)
    return code


add_writing(manage_prompts)


@manage_prompts.action(
    "list",
    take_argument("prompts.item", "item CORPUS/ID", "those of one item", nargs="?"),
    _CORPUS,
    PLACE,
)
def _list(client: Client, options: argparse.Namespace) -> int:
    """Count the prompts and say whether they count, or list those of one item."""
    rows = client.prompts(options.corpus, options.item, choose_place(options))
    return print_report(options, rows, _format_item if options.item else _format_held)


def _format_held(rows: Sequence[Mapping[str, Any]]) -> Report:
    if not rows:
        return "no item has expected prompts; irc prompts import FILE adds some"
    names = ("corpus", "provenance", "items", "prompts", "misses", "outdated")
    cells = [(*(row[name] for name in names), describe_gate(row)) for row in rows]
    return [Table(_HELD, cells)]


def _format_item(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"{row['item']}, by {row['provenance']}: {describe_gate(row)}"
        yield from (f"  {text}" for text in row["texts"])
        yield from (f"  not: {text}" for text in row["near"])
    if not rows:
        yield "the item has no expected prompts"


def describe_gate(told: Mapping[str, Any]) -> str:
    """Return whether prompts count, and why or why not."""
    parts = ["they count" if told["counts"] else "they do not count"]
    figures = told.get("figures") or {}
    if told["outcome"] not in ("", "counted"):
        parts.append(told["outcome"])
    if "before" in figures and "after" in figures:
        parts.append(f"NDCG@10 {figures['before']:.3f} -> {figures['after']:.3f}")
    if told["outdated"] is True:
        parts.append("written for another text")
    return ", ".join(parts)


@manage_prompts.action(
    "import",
    argument("file FILE", "JSON, one item a line; - for standard input"),
    argument("-c --corpus CORPUS", "of lines that name none"),
    NO_WAIT,
    PLACE,
)
def _import(client: Client, options: argparse.Namespace) -> int:
    """Import prompts: {"id" or "name" or "path": ..., "prompts": [...], "not": [...]}."""
    done: dict[str, Any] = {"items": 0, "prompts": 0, "misses": 0, "problems": [], "jobs": []}
    place, upload = choose_place(options), ""
    with open_source(options.file) as file:
        for lines, more in _list_parts(_keep_good(read_lines(file), done["problems"])):
            sent = [each.to_dict() for each in lines]
            taken = client.prompts_import(sent, options.corpus, place, upload, more)
            upload = taken.upload
            done["problems"] += taken.problems
            done["jobs"] += taken.jobs
            for name in ("items", "prompts", "misses"):
                done[name] += getattr(taken, name)
    done["problems"].sort(key=lambda problem: problem["line"])
    ended = [] if options.no_wait else await_jobs(client, done["jobs"])
    done["jobs"] = ended or done["jobs"]
    print_data(options, done, _format_imported)
    if not options.json:
        name = "stdin" if options.file == "-" else options.file
        for problem in done["problems"]:
            note(f"{name}:{problem['line']}: {problem['message']}")
    if not done["items"]:
        return WRONG
    return UNHEALTHY if done["problems"] else choose_jobs_exit(ended)


def _keep_good(
    lines: Iterable[GivenPrompts | LineProblem], problems: list[dict[str, Any]]
) -> Iterator[GivenPrompts]:
    """Yield the valid lines, with real paths, and collect the problems of the others."""
    for line in lines:
        if isinstance(line, LineProblem):
            problems.append(line.to_dict())
        elif line.by == "path":
            yield replace(line, item=os.path.realpath(os.path.expanduser(line.item)))
        else:
            yield line


def _list_parts(lines: Iterable[GivenPrompts]) -> Iterator[tuple[list[GivenPrompts], bool]]:
    """Split lines into requests; yield the lines of each, and whether more follow."""
    part: list[GivenPrompts] = []
    texts = size = 0
    for line in lines:
        own = (*line.prompts, *line.misses)
        if part and (len(part) >= _PART_LINES or texts > _PART_TEXTS or size > _PART_BYTES):
            yield part, True
            part, texts, size = [], 0, 0
        part.append(line)
        texts += len(own)
        size += sum(len(text.encode("utf-8")) for text in own)
    if part:
        yield part, False


def _format_imported(done: Mapping[str, Any]) -> Iterator[str]:
    taken = format_count(done["prompts"], "prompt"), format_count(done["items"], "item")
    near = f", {format_count(done['misses'], 'near miss')}" if done["misses"] else ""
    yield f"{taken[0]}{near} of {taken[1]} imported"
    for job in done["jobs"]:
        if isinstance(job, Mapping):
            yield f"{job['corpus'].partition('@')[0]}: {job['report']}"
    if bad := len(done["problems"]):
        yield f"{format_count(bad, 'line', 'is')} left out"


@manage_prompts.action(
    "export",
    _CORPUS,
    _add_provenance("prompts_export", "those from here (person)"),
    PLACE,
)
def _export(client: Client, options: argparse.Namespace) -> int:
    """Export prompts as lines that can be imported again."""
    found = list(_list_exported(client, options, choose_place(options)))
    rows = [_make_line(each) for each in found]
    return print_data(options, rows, lambda _: map(dump_safe_json, rows))


def _list_exported(
    client: Client, options: argparse.Namespace, place: str
) -> Iterator[ExportedPrompts]:
    after, asked = "", (options.corpus, options.provenance, place)
    while page := client.prompts_export(*asked, after, _PAGE):
        yield from page
        after = f"{page[-1].corpus}/{page[-1].id}"


def _make_line(each: ExportedPrompts) -> dict[str, Any]:
    line: dict[str, Any] = {"id": each.id, "prompts": list(each.prompts)}
    return {**line, **({"not": list(each.misses)} if each.misses else {}), "corpus": each.corpus}


@manage_prompts.action(
    "forget",
    take_argument("prompts_forget.item", "item CORPUS/ID", "of this item", nargs="?"),
    argument("-c --corpus CORPUS", "of all items of this corpus"),
    _add_provenance("prompts_forget", "only those from here (person and agent)"),
    _PART,
    NO_WAIT,
)
def _forget(client: Client, options: argparse.Namespace) -> int:
    """Forget the prompts of an item or of a corpus."""
    place = _choose_part(options) if options.corpus else _choose_item_place(options)
    asked = options.item, options.corpus, options.provenance, place
    return follow(client, client.prompts_forget(*asked), options)


@manage_prompts.action(
    "rollback",
    argument("-c --corpus CORPUS", "of this corpus", required=True),
    _add_provenance("prompts_rollback", "those from here (person)"),
    _PART,
    NO_WAIT,
)
def _roll_back(client: Client, options: argparse.Namespace) -> int:
    """Undo the last import."""
    asked = options.corpus, options.provenance, _choose_part(options)
    return follow(client, client.prompts_rollback(*asked), options)


def _choose_part(options: argparse.Namespace) -> str:
    """Return the place of the named project, "" for the person's own corpus."""
    options.everywhere = not options.here
    return choose_place(options)


def _choose_item_place(options: argparse.Namespace) -> str:
    options.everywhere = False
    return choose_place(options)
