"""Reports on use as text: what was offered and used, what was not found, what a listing cuts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irclient.counts import counted
from irclient.terminal.columns import TableColumn, fitted, paragraph
from irclient.terminal.width import UNCUT

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
_BY = tuple(map(TableColumn, ("by", "name", "offered", "adopted", "share")))
_LISTED = (
    TableColumn("skill", least=16),
    TableColumn("characters"),
    TableColumn("uses"),
    TableColumn("listed"),
)


def usage(report: Mapping[str, Any], width: int = UNCUT) -> str:
    """Return the report on use: counts, adoption, items, and what stands out."""
    return "\n".join(_usage(report, width))


def _usage(report: Mapping[str, Any], width: int) -> Iterator[str]:
    states = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in report["states"].items())
    yield paragraph(
        f"since {_day(report['since'])}: {counted(report['answers'], 'answer')}, of which"
        f" {report['abstained']:,} offered nothing; {counted(report['turns'], 'turn')};"
        f" {counted(report['uses'], 'use')}{f' ({states})' if states else ''}",
        width,
    )
    if report["without_session"]:
        count = f"{counted(report['without_session'], 'answer')} had no session"
        yield paragraph(f"{count}: they are joined only where a transcript tells of them", width)
    if report["adoption"]:
        rows = [
            (e["by"], e["name"], e["offered"], e["adopted"], _share(e)) for e in report["adoption"]
        ]
        yield from ("", fitted(_BY, rows, width))
    if report["items"]:
        yield from ("", fitted(_USED, map(_item, report["items"][:_ITEMS]), width))
        if more := len(report["items"]) - _ITEMS:
            yield from [f"and {more:,} more (--json)"] if more > 0 else []
    yield from _standing_out(report, width)
    for each in report["learned"]:
        yield paragraph(_learned(each), width)


def _learned(each: Mapping[str, Any]) -> str:
    """Return what came of learning from the uses of a corpus."""
    told = f"learned, {each['corpus']}: {each['outcome']}, {counted(each['uses'], 'use')}"
    if each["held_out"]:
        ndcg = f"{each['before']:.3f} -> {each['after']:.3f}"
        told += f", NDCG@10 of the newest {each['held_out']:,} {ndcg}"
    if each["artifacts"]:
        prompts, items = counted(each["prompts"], "prompt"), counted(each["artifacts"], "item")
        told += f"; served: {prompts} of {items}"
    return told


def _standing_out(report: Mapping[str, Any], width: int) -> Iterator[str]:
    if names := [f"{e['name']} ({e['how']}, {e['uses']:,})" for e in report["not_installed"]]:
        yield from ("", paragraph(f"used, and not indexed: {_some(names, len(names))}", width))
    for key, words in (("never_offered", "never offered"), ("offered_never_used", "never used")):
        if count := report[key]["count"]:
            yield paragraph(f"{words}: {count:,}: {_some(report[key]['references'], count)}", width)
    spent = report["context"]
    if spent["items"]:
        items = counted(spent["items"], "offered item")
        yield f"context: about {counted(spent['tokens'], 'token')} for {items}"


def gaps(report: Mapping[str, Any], width: int = UNCUT) -> str:
    """Return each gap: what was missed, how often, why, and what would cure it."""
    lines = [line for gap in report["gaps"] for line in _gap(gap, width)]
    if not lines:
        lines = ["no gaps: nothing was missed often enough"]
    if report["watching"]:
        lines.append(
            f"{counted(report['watching'], 'prompt', 'is')} alone so far: irc gaps --least 1"
        )
    if report["replayed"]:
        lines.append(f"{counted(report['replayed'], 'prompt')} without a known answer asked anew")
    return "\n".join(lines)


def _gap(gap: Mapping[str, Any], width: int) -> Iterator[str]:
    heads = {
        "missed": gap["reference"],
        "nothing_found": f"nothing found: {', '.join(gap['words']) or '?'}",
        "not_indexed": f"not indexed: {gap['name']}",
    }
    head = heads.get(gap["kind"], gap["kind"])
    sessions = f"{counted(gap['prompts'], 'prompt')} in {counted(gap['sessions'], 'session')}"
    yield paragraph(f"{head}: {sessions}; {_why(gap)}", width)
    yield from (paragraph(f'  "{example}"', width) for example in gap["examples"])
    yield from (paragraph(f"  cure: {gap['cure']}", width), "")


def _why(gap: Mapping[str, Any]) -> str:
    counts = {**gap["states"], **gap["verdicts"], **gap["reasons"]}
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def listing(report: Mapping[str, Any], width: int = UNCUT) -> str:
    """Return which skills an agent's listing cuts, those first."""
    head = (
        f"{report['agent']}: {counted(report['skills'], 'skill', 'wants')}"
        f" {report['wanted_chars']:,} characters of {report['budget_chars']:,};"
        f" {counted(report['cut'], 'skill', 'is')} listed by name only"
    )
    rows = [
        (e["name"], e["chars"], e["uses"], "whole" if e["whole"] else "name only")
        for e in sorted(report["items"], key=lambda e: e["whole"])
    ]
    parts = [paragraph(head, width), paragraph(report["source"], width)]
    return "\n".join([*parts, *([fitted(_LISTED, rows, width)] if rows else [])])


def _adopted(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["by"], row["name"], row["offered"], row["adopted"], _share(row)


def _item(row: Mapping[str, Any]) -> tuple[Any, ...]:
    missed = row["missed"]
    return (
        row["reference"],
        row["uses"],
        row["offered"],
        row["adopted"],
        _share(row),
        missed["near_miss"],
        missed["buried"],
        missed["absent"],
        _day(row["last_used"]) if row["last_used"] else "never",
    )


def _share(row: Mapping[str, Any]) -> str:
    if row["share"] is None:
        return "-"
    return f"{row['share']:.0%} ({row['low']:.0%} to {row['high']:.0%})"


def _some(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:_NAMES])
    return shown + (f" and {count - _NAMES:,} more" if count > _NAMES else "")


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
