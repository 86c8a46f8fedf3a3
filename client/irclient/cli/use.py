"""Report offers and uses: `irc usage`, `gaps`, `listing` and `impressions`."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.agents.hook.moments import MOMENTS
from irclient.cli.cases import read_json_lines
from irclient.cli.follow import NO_WAIT, follow
from irclient.cli.query import Act, take_argument
from irclient.client import Client
from irclient.counts import format_count
from irclient.terminal.columns import Table, TableColumn, print_report
from irclient.terminal.help import Add, add_exclusive, argument, command, flag
from irclient.terminal.output import print_data
from irclient.terminal.tables import format_moment

_ITEMS = 20
_NAMES = 10
_USED = (
    TableColumn("item", least=16),
    TableColumn("uses"),
    TableColumn("offered"),
    TableColumn("adopted"),
    TableColumn("share"),
    TableColumn("near miss", optional=3),
    TableColumn("buried", optional=2),
    TableColumn("absent", optional=1),
    TableColumn("last used", optional=4),
)
_MOMENTS = ("moment", "agent", "told", "silent", "bad events")


def _add_item(meaning: str) -> Add:
    """Return the option --item of an action, which overrides the one before the action."""
    return argument("--item REF", meaning, default=argparse.SUPPRESS)


@command(
    take_argument("usage.item", "--item REF", "only this item (CORPUS/ID)"),
    unless="show, if none is given",
)
def report_usage(client: Client, options: argparse.Namespace) -> int:
    """Report which offers were used.

    Report what the daemon offered in the last 90 days, and what agents' sessions
    used of it: by item, agent, wording and week, each share with its 95% interval.
    Also list items that are used but not indexed, never offered, or offered and
    never used. All of this stays on this machine (docs/usage.md).

    examples:
    # how many offers are used?
    irc usage

    # for one skill
    irc usage --item skills/fill-pdf-form

    # learn from uses recorded elsewhere, and undo that
    irc usage import uses.jsonl -c skills
    irc usage rollback skills

    # forget what was recorded of a session, or everything
    irc usage forget --session claude:5f1c9b2e
    irc usage forget --all
    """
    act: Act = getattr(options, "act", _show)
    return act(client, options)


@report_usage.action("show", _add_item("only this item (CORPUS/ID)"))
def _show(client: Client, options: argparse.Namespace) -> int:
    """Show what was offered and used."""
    return print_report(options, client.usage(options.item), format_usage)


@report_usage.action(
    "forget",
    add_exclusive(
        _add_item("of this item (CORPUS/ID)"),
        take_argument("usage_forget.session", "--session ID", "of this session (AGENT:ID)"),
        flag("--all", "everything"),
        required=True,
    ),
)
def _forget(client: Client, options: argparse.Namespace) -> int:
    """Forget what was recorded."""
    done = {"forgotten": client.usage_forget(options.item, options.session, options.all)}
    return print_data(
        options, done, lambda done: f"{format_count(done['forgotten'], 'row')} forgotten"
    )


@report_usage.action(
    "import",
    argument("file FILE", "JSON, one use a line; - for standard input"),
    argument("-c --corpus CORPUS", "of uses that name none"),
    NO_WAIT,
)
def _import(client: Client, options: argparse.Namespace) -> int:
    """Learn from uses recorded elsewhere."""
    uses = [use for _, use in read_json_lines(options.file)]
    return follow(client, client.usage_import(uses, options.corpus), options)


@report_usage.action(
    "rollback",
    argument("corpus CORPUS", "only this corpus", nargs="?"),
    NO_WAIT,
)
def _roll_back(client: Client, options: argparse.Namespace) -> int:
    """Undo the last learning."""
    return follow(client, client.usage_rollback(options.corpus), options)


@command(take_argument("gaps.least", "--least N", "list gaps of at least N prompts (2)"))
def report_gaps(client: Client, options: argparse.Namespace) -> int:
    """Report what was needed and not found, and how to fix it.

    List items that agents used although they were not offered, and prompts without
    an offer, grouped by the words they share: how many, why, and the edit that
    would fix it, such as adding words that people use and the item's description
    lacks. Gaps of a single prompt are only counted (--least 1 lists them), and so
    are used items that are not indexed. Prompts from before use was recorded are
    asked again.

    examples:
    # what do descriptions lack?
    irc gaps

    # also gaps of a single prompt
    irc gaps --least 1

    # for a script
    irc gaps --json
    """
    return print_report(options, client.gaps(options.least), format_gaps)


@command(
    argument(
        "--agent AGENT",
        "claude (the default) or codex",
        choices=("claude", "codex"),
        default="claude",
    ),
    argument(
        "--context-tokens N", "the context's size (200000, for codex 272000)", type=int, default=0
    ),
)
def report_listing(client: Client, options: argparse.Namespace) -> int:
    """Report which skills do not fit into an agent's own listing.

    Claude Code uses a hundredth of its context to list skills to its model, and
    shows only the names of those that do not fit; Codex uses a fiftieth, and cuts
    the longest descriptions. This estimates, from the programs' code, which skills
    are affected, and what each skill costs.

    examples:
    # Claude Code with a context of 200,000 tokens
    irc listing

    # with another context
    irc listing --context-tokens 1000000

    # Codex
    irc listing --agent codex
    """
    report = client.listing(options.context_tokens, options.agent)
    return print_report(options, report, format_listing)


@command(
    argument("session SESSION", "as the hook names it: AGENT:ID"),
    argument(
        "reference CORPUS/ID", "record these as shown, too; a name will do", nargs="*", default=()
    ),
)
def list_impressions(client: Client, options: argparse.Namespace) -> int:
    """List what an agent's session was shown, and when.

    List what the prompt hook showed to an agent's session, oldest first. The hook
    shows nothing twice; items given as references count as shown, too.

    examples:
    # the items shown to a session of Claude Code
    irc impressions claude:5f1c9b2e

    # never show it this item
    irc impressions claude:5f1c9b2e skills/fill-pdf-form
    """
    # A name is resolved to the reference that answers use.
    meant = client.disclose(options.reference, "metadata") if options.reference else []
    references = [f"{each.corpus}/{each.artifact_id}" for each in meant]
    found = client.impressions(options.session, references)
    return print_data(options, found, _format_impressions)


def _format_impressions(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in found:
        yield f"{format_moment(each['at'], seconds=True)}  {each['reference']}"
    if not found:
        yield "nothing"


def format_usage(report: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the report on use: counts, adoption, items, and what stands out."""
    states = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in report["states"].items())
    yield (
        f"since {_format_day(report['since'])}: {format_count(report['answers'], 'answer')},"
        f" {report['abstained']:,} of them without an offer;"
        f" {format_count(report['turns'], 'turn')};"
        f" {format_count(report['uses'], 'use')}{f' ({states})' if states else ''}"
    )
    if report["without_session"]:
        count = f"{format_count(report['without_session'], 'answer')} had no session"
        yield f"{count}; an offer there counts only if a transcript shows it"
    if report["adoption"]:
        rows = [
            (e["by"], e["name"], e["offered"], e["adopted"], _format_share(e))
            for e in report["adoption"]
        ]
        yield from ("", Table(("by", "name", "offered", "adopted", "share"), rows))
    if report["items"]:
        yield from ("", Table(_USED, map(_make_row, report["items"][:_ITEMS])))
        if (more := len(report["items"]) - _ITEMS) > 0:
            yield f"and {more:,} more (--json)"
    yield from _format_extremes(report)
    if moments := report.get("moments"):
        yield from ("", Table(_MOMENTS, _list_moments(moments)))
    yield from _format_preferences(report)
    yield from map(_format_learned, report["learned"])


def _format_learned(each: Mapping[str, Any]) -> str:
    """Return the outcome of learning from the uses of a corpus."""
    told = f"learned, {each['corpus']}: {each['outcome']}, {format_count(each['uses'], 'use')}"
    if each["held_out"]:
        ndcg = f"{each['before']:.3f} -> {each['after']:.3f}"
        told += f", NDCG@10 of the newest {each['held_out']:,} {ndcg}"
    if each["artifacts"]:
        prompts = format_count(each["prompts"], "prompt")
        told += f"; served: {prompts} of {format_count(each['artifacts'], 'item')}"
    return told


def _format_extremes(report: Mapping[str, Any]) -> Iterator[str]:
    if names := [f"{e['name']} ({e['how']}, {e['uses']:,})" for e in report["not_installed"]]:
        yield from ("", f"used, and not indexed: {_format_some(names, len(names))}")
    for key, words in (("never_offered", "never offered"), ("offered_never_used", "never used")):
        if count := report[key]["count"]:
            yield f"{words}: {count:,}: {_format_some(report[key]['references'], count)}"
    spent = report["context"]
    if spent["items"]:
        items = format_count(spent["items"], "offered item")
        yield f"context: about {format_count(spent['tokens'], 'token')} for {items}"


def _list_moments(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return a row for each moment and agent: counts of answers, silence and bad events.

    Only malformed events of other moments are counted here: answers to prompts are above.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in rows:
        counts.setdefault((each["moment"], each["agent"]), Counter())[each["outcome"]] += each["n"]
    return [
        (
            *(moment, agent),
            *(found[name] if moment in MOMENTS else "" for name in ("told", "silent")),
            found["bad"],
        )
        for (moment, agent), found in counts.items()
    ]


def _format_preferences(report: Mapping[str, Any]) -> Iterator[str]:
    for verdict in ("muted", "pinned"):
        if names := report.get(verdict):
            yield f"{verdict}: {len(names):,}: {_format_some(names, len(names))}"
    if faded := report.get("faded"):
        names = [f"{each['reference']} ({each['sessions']:,} sessions)" for each in faded]
        yield (
            f"faded, offered and never used: {len(faded):,}: {_format_some(names, len(names))};"
            " irc pin REF offers one again"
        )


def format_gaps(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield each gap: what was missed, how often, why, and how to fix it."""
    for gap in report["gaps"]:
        yield from _format_gap(gap)
    if not report["gaps"]:
        yield "no gaps: nothing was missed often enough"
    if report["watching"]:
        yield f"{format_count(report['watching'], 'gap')} of a single prompt: irc gaps --least 1"
    if report["replayed"]:
        yield f"{format_count(report['replayed'], 'prompt')} without a known answer asked again"


def _format_gap(gap: Mapping[str, Any]) -> Iterator[str]:
    heads = {
        "missed": gap["reference"],
        "nothing_found": f"nothing found: {', '.join(gap['words']) or '?'}",
        "not_indexed": f"not indexed: {gap['name']}",
    }
    head = heads.get(gap["kind"], gap["kind"])
    sessions = format_count(gap["sessions"], "session")
    yield f"{head}: {format_count(gap['prompts'], 'prompt')} in {sessions}; {_format_reasons(gap)}"
    yield from (f'  "{example}"' for example in gap["examples"])
    yield from (f"  cure: {gap['cure']}", "")


def _format_reasons(gap: Mapping[str, Any]) -> str:
    counts = {**gap["states"], **gap["verdicts"], **gap["reasons"]}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def format_listing(report: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yield the skills in an agent's listing, those that it cuts first."""
    yield (
        f"{report['agent']}: {format_count(report['skills'], 'skill', 'needs')}"
        f" {report['wanted_chars']:,} characters of {report['budget_chars']:,};"
        f" {format_count(report['cut'], 'skill', 'is')} not listed in full"
    )
    yield report["source"]
    rows = [
        (e["name"], e["chars"], e["uses"], _describe_listed(e))
        for e in sorted(report["items"], key=lambda e: e["whole"])
    ]
    if rows:
        yield Table((TableColumn("skill", least=16), "characters", "uses", "listed"), rows)


def _describe_listed(row: Mapping[str, Any]) -> str:
    shown = row.get("shown", 0)
    if row["whole"]:
        return "whole"
    return "left out" if shown < 0 else f"{shown:,} characters" if shown else "name only"


def _make_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    missed = row["missed"]
    return (
        row["reference"],
        row["uses"],
        row["offered"],
        row["adopted"],
        _format_share(row),
        missed["near_miss"],
        missed["buried"],
        missed["absent"],
        _format_day(row["last_used"]) if row["last_used"] else "never",
    )


def _format_share(row: Mapping[str, Any]) -> str:
    if row["share"] is None:
        return "-"
    return f"{row['share']:.0%} ({row['low']:.0%} to {row['high']:.0%})"


def _format_some(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:_NAMES])
    return shown + (f" and {count - _NAMES:,} more" if count > _NAMES else "")


def _format_day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
