"""Write every ranking of the labelled sets, the day and the homes; compare two such files.

    python bench/rankings.py write FILE [--data DIR] [--queries N]
    python bench/rankings.py compare BEFORE AFTER

A line is one query: what `search` ranks and what `discover` offers, ids with their scores to the
last digit. `compare` counts the lines that differ, by set, and shows the first of each; its exit
code is 1 where any does. So a change that means to leave answers alone can show that it did.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from common import ROOT, daemon
from daily import furnish
from quality import SETS, read_set

import irdaemon as ir
from irclient import Client, Hit, Query, Selection

HOMES = ("web", "ml")


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write")
    write.add_argument("file", type=Path)
    write.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    write.add_argument("--queries", type=int, default=300, help="of a labelled set, at most")
    compare = commands.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        return compare_files(options.before, options.after)
    if not (options.data / "retrieval").is_dir():
        print(f"{options.data} holds no labelled sets; name them with --data", file=sys.stderr)
        return 2
    lines = chain(
        rank_sets(options.data / "retrieval", options.queries),
        rank_home("daily", options.data, options.data / "daily" / "prompts.jsonl"),
        *(
            rank_home(name, options.data / "homes" / name / "home", prompts)
            for name in HOMES
            if (prompts := options.data / "homes" / name / "prompts.jsonl").is_file()
        ),
    )
    with options.file.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)
    return 0


def rank_sets(folder: Path, queries: int) -> Iterator[dict[str, Any]]:
    """Yield a line for each query of the labelled sets, asked in memory."""
    for name in SETS:
        content = read_set(folder / name, queries)
        source = ir.CorpusSource.from_mapping(content["items"], name=name)
        corpus = ir.build(source, store=":memory:")
        for number, case in enumerate([*content["cases"], *content["outside"]]):
            ranked = ir.search(corpus, case.query)
            offered = ir.discover(corpus, case.query)
            yield line_of(name, str(number), ranked, offered.results, offered.reason)
        corpus.close()


def rank_home(name: str, source: Path, prompts: Path) -> Iterator[dict[str, Any]]:
    """Yield a line for each prompt of a labelled home, asked of a daemon over all its corpora."""
    labels = [json.loads(line) for line in prompts.read_text("utf-8").splitlines()]
    with daemon() as running:
        if name in HOMES:
            shutil.copytree(source, running.home, symlinks=True, dirs_exist_ok=True)
        else:
            furnish(running.home, source)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, 1)
            for label in labels:
                yield rank_prompt(client, name, label)


def rank_prompt(client: Client, name: str, label: dict[str, Any]) -> dict[str, Any]:
    """Return the line of one prompt."""
    ranked = client.search(Query(label["prompt"], k=10))
    offered: Selection = client.discover(Query(label["prompt"]))
    return line_of(name, label["id"], ranked.results, offered.results, offered.reason)


def line_of(
    name: str, query: str, ranked: Sequence[Hit], offered: Sequence[Hit], reason: str
) -> dict[str, Any]:
    """Return what is compared of one query."""
    return {
        "set": name,
        "query": query,
        "ranked": [[hit.corpus, hit.artifact_id, hit.score] for hit in ranked],
        "offered": [[hit.corpus, hit.artifact_id, hit.score] for hit in offered],
        "reason": reason,
    }


def compare_files(before: Path, after: Path) -> int:
    """Print how many lines differ, by set, and the first of each; return 1 where any does."""
    pairs = zip(
        before.read_text("utf-8").splitlines(), after.read_text("utf-8").splitlines(), strict=True
    )
    total, changed = Counter[str](), Counter[str]()
    for old, new in pairs:
        name = json.loads(old)["set"]
        total[name] += 1
        changed[name] += old != new
        if old != new and changed[name] == 1:
            print(f"first that differs in {name}:\n  {old[:600]}\n  {new[:600]}")
    for name, count in total.items():
        print(f"{name}: {changed[name]} of {count} differ")
    return int(any(changed.values()))


if __name__ == "__main__":
    sys.exit(main())
