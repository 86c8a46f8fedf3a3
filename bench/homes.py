"""Measure labelled homes and the labelled day, asked from the project that the person works in.

A home is a directory with `home/`, which is copied to a throw-away HOME, and `prompts.jsonl`. Each
prompt is asked of a daemon from the only directory below `home/code`, or from nowhere where there
is none or more than one. Printed by group: the share of prompts whose gold `search` has among the
first three over all corpora (*ranked*) and `discover` too (*offered*), the share that `discover`
answers, and how much of what it shows is neither gold nor ok, by answered prompt (*noise*). A
prompt without gold should get nothing. Writes bench/results/homes.json with every answer, so that
two runs can be compared line by line; no text of a prompt is written there.

    python bench/homes.py [--data DIR] [--everywhere] [--before FILE] [HOME ...]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common import ROOT, daemon, write_results
from daily import FIRST, among_first, found_as, furnish, is_gold, ranks_of

from irclient import Client, Hit, Query

DAY = "daily"
SHARES = ("ranked", "offered", "answered", "noise")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one prompt got; its text is left out.

    `ranked` and `offered` are the ranks of the gold (0-based, -1 where it is missing), `noise`
    counts what was shown and is neither gold nor ok.
    """

    home: str
    id: str
    group: str
    need: str
    ranked: tuple[int, ...]
    offered: tuple[int, ...]
    noise: int
    packages: int
    first: tuple[str, ...]
    shown: tuple[str, ...]
    reason: str


def find_homes(data: Path, names: Sequence[str]) -> list[str]:
    """Return the labelled homes that there are, the day last, or those of them that are named."""
    folders = (each.parent for each in sorted((data / "homes").glob("*/prompts.jsonl")))
    found = [each.name for each in folders if (each / "home").is_dir()]
    if (data / DAY / "prompts.jsonl").is_file():
        found.append(DAY)
    unknown = set(names) - set(found)
    if unknown or not found:
        missing = ", ".join(sorted(unknown)) or "labelled home"
        print(f"no {missing} at {data}; name another directory with --data", file=sys.stderr)
        raise SystemExit(2)
    return [name for name in found if name in names or not names]


def find_project(home: Path) -> str:
    """Return the only directory below `code`; "" where there is none or more than one."""
    code = home / "code"
    folders = [each for each in code.iterdir() if each.is_dir()] if code.is_dir() else []
    return str(folders[0]) if len(folders) == 1 else ""


def read_labels(data: Path, name: str) -> list[dict[str, Any]]:
    """Return the labelled prompts of a home."""
    folder = data / DAY if name == DAY else data / "homes" / name
    return [json.loads(line) for line in (folder / "prompts.jsonl").read_text("utf-8").splitlines()]


def ask_home(data: Path, name: str, everywhere: bool) -> list[Answer]:
    """Ask every prompt of a copy of a home, from its project unless `everywhere`."""
    labels = read_labels(data, name)
    with daemon() as running:
        if name == DAY:
            furnish(running.home, data)
        else:
            source = data / "homes" / name / "home"
            shutil.copytree(source, running.home, symlinks=True, dirs_exist_ok=True)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1)
            place = "" if everywhere else find_project(running.home)
            if place:
                client.discover(Query("hello", place=place, fresh=True, wait_ms=60_000))
                running.wait_indexed(client, 1)
            return [ask(client, name, label, place) for label in labels]


def ask(client: Client, home: str, label: Mapping[str, Any], place: str) -> Answer:
    """Ask one prompt both ways; a client without places can be asked without one."""
    here = {"place": place} if place else {}
    ranked = client.search(Query(label["prompt"], k=10, **here)).results
    selection = client.discover(Query(label["prompt"], **here))
    return score(home, label, ranked, selection.results, selection.reason)


def score(
    home: str, label: Mapping[str, Any], ranked: Sequence[Hit], shown: Sequence[Hit], reason: str
) -> Answer:
    """Hold what came against what a label names."""
    wanted = [*label["gold"], *label.get("ok", ())]
    return Answer(
        home=home,
        id=label["id"],
        group=label["group"] if label["gold"] else f"{label['group']}, silence",
        need=label.get("need", "all"),
        ranked=ranks_of(ranked, label["gold"]),
        offered=ranks_of(shown, label["gold"]),
        noise=sum(not any(is_gold(hit, each) for each in wanted) for hit in shown),
        packages=sum(hit.corpus == "packages" for hit in ranked[:FIRST]),
        first=tuple(map(found_as, ranked[:FIRST])),
        shown=tuple(map(found_as, shown)),
        reason=reason,
    )


def table(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Return a row for each group of each home, and one for all of a home."""
    rows = []
    for home in dict.fromkeys(each.home for each in answers):
        those = [each for each in answers if each.home == home]
        silence = [each for each in those if not each.ranked]
        for group in sorted({each.group for each in those}):
            rows.append(row(home, group, [each for each in those if each.group == group]))
        rows.append(row(home, "all with gold", [each for each in those if each.ranked]))
        rows.append(row(home, "all silence", silence))
    return [each for each in rows if each["n"]]


def row(home: str, group: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the figures of some answers; where silence is right, nothing can be ranked."""
    answered = [each for each in answers if each.shown]
    figures: dict[str, Any] = {"home": home, "group": group, "n": len(answers)}
    if answers and answers[0].ranked:
        figures["ranked"] = share(among_first(each.ranked, each.need) for each in answers)
        figures["offered"] = share(among_first(each.offered, each.need) for each in answers)
    figures["answered"] = share(bool(each.shown) for each in answers)
    figures["noise"] = share(each.noise for each in answered)
    figures["packages of the first three"] = share(each.packages for each in answers)
    return figures


def share(values: Iterable[float]) -> float:
    """Return the mean of some values, 0 of none."""
    listed = list(values)
    return round(sum(listed) / len(listed), 3) if listed else 0.0


def compare(rows: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]) -> None:
    """Add to each row its ratios to an earlier run's, and how many of its answers differ.

    Where the earlier figure is 0 the difference stands there instead, with its sign.
    """
    figures = {(each["home"], each["group"]): each for each in before if "group" in each}
    for each in rows:
        if old := figures.get((each["home"], each["group"])):
            each["ratios"] = {
                name: round(each[name] / old[name], 3) if old[name] else f"{each[name]:+g}"
                for name in SHARES
                if name in each and name in old
            }


def count_changes(answers: Sequence[Answer], before: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return how many prompts are offered something else than in an earlier run, by group."""
    listed = (answer for each in before for answer in each.get("answers", ()))
    old = {(answer["home"], answer["id"]): answer["shown"] for answer in listed}
    changes: dict[str, int] = {}
    for each in answers:
        key = (each.home, each.id)
        if key in old and old[key] != list(each.shown):
            group = f"{each.home}, {each.group}"
            changes[group] = changes.get(group, 0) + 1
    return changes


def main() -> None:
    """Ask every home, and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("homes", nargs="*", metavar="HOME", help="default: all, and the day")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--everywhere", action="store_true", help="ask from nowhere")
    parser.add_argument("--before", type=Path, help="results of an earlier run, to compare with")
    options = parser.parse_args()
    before = json.loads(options.before.read_text("utf-8"))["results"] if options.before else []
    names = find_homes(options.data, options.homes)
    answers = [each for name in names for each in ask_home(options.data, name, options.everywhere)]
    rows = table(answers)
    compare(rows, before)
    print_table(rows)
    changes = [{"offered otherwise": count_changes(answers, before)}] if before else []
    print(*changes)
    write_results("homes", [*rows, *changes, {"answers": [asdict(each) for each in answers]}])


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each row, and the ratio to an earlier figure behind each that has one."""
    print(f"{'home':<8}{'group':<22}{'n':>4}" + "".join(f"{name:>17}" for name in SHARES))
    for each in rows:
        ratios = each.get("ratios", {})
        cells = (f"{each[name]:.2f}" if name in each else "" for name in SHARES)
        besides = (f" ({ratios[name]})" if name in ratios else "" for name in SHARES)
        line = "".join(f"{cell + beside:>17}" for cell, beside in zip(cells, besides, strict=True))
        print(f"{each['home']:<8}{each['group']:<22}{each['n']:>4}{line}")


if __name__ == "__main__":
    main()
