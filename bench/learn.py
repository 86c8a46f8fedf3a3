"""Measure what uses teach: answers to queries never asked before, after so many uses an item.

Uses are simulated out of the labelled queries that are not asked in the test: each is a session of
its own, an hour after the one before, with none or a fifth of them attributed to another item. They
go through `learn` of the library, gate included, so that what is not published changes nothing.
metatool-multi is asked after uses out of metatool. Writes bench/results/learn.json and learn.txt.

    python bench/learn.py [--data DIR] [--queries 500] [--embedder NAME] [SET ...]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from quality import RESULTS, ROOT, SETS, measured, read_set

import irdaemon as ir
from irdaemon.contrib.evaluate.ranking import ask_cases
from irdaemon.discovery.cases import Case
from irdaemon.types import LearnReport, Query, Use

# Uses an item, and the share of them that is attributed to another item.
POINTS = ((0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0), (3, 0.2), (5, 0.0), (10, 0.0), (10, 0.2))
_TAUGHT_BY = {"metatool-multi": "metatool"}
_FIRST_USE = 1.7e9
_HOUR_S = 3_600
_ALL = 10**6


def simulated(cases: Sequence[Case], items: Sequence[str], times: int, wrong: float) -> list[Use]:
    """Return uses out of cases: up to `times` of each item, as far as the cases reach."""
    chance = random.Random(1)
    used: Counter[str] = Counter()
    uses: list[Use] = []
    for case in cases:
        gold = [id for id in case.gold if id in items]
        if any(used[id] < times for id in gold):
            used.update(gold)
            taken = [id if chance.random() >= wrong else chance.choice(items) for id in gold]
            at = _FIRST_USE + _HOUR_S * len(uses)
            uses.append(Use(case.query, tuple(taken), f"session {len(uses)}", at))
    return uses


def figures(content: dict[str, Any], uses: Sequence[Use], embedder: str) -> dict[str, Any]:
    """Return the measures of a set after some uses, and what came of learning from them."""
    source = ir.CorpusSource.from_mapping(content["items"], name="learn")
    corpus = ir.build(source, store=":memory:", embedder=embedder)
    report = ir.learn(corpus, uses) if uses else LearnReport("nothing used", 0)
    inside = ask_cases(corpus, content["cases"], Query(""))
    outside = ask_cases(corpus, content["outside"], Query(""))
    corpus.close()
    found = measured(inside, outside)
    return {**{name: found[name] for name in ("ndcg", "hit1", "j")}, "learned": report.to_dict()}


def measure_set(folder: Path, name: str, wanted: int, embedder: str) -> list[dict[str, Any]]:
    """Return the figures of a set at every point."""
    content = read_set(folder / name, wanted)
    taught_by = _TAUGHT_BY.get(name, name)
    asked = {case.query for case in content["cases"]}
    pool = [c for c in read_set(folder / taught_by, _ALL)["cases"] if c.query not in asked]
    items = sorted(content["items"])
    rows = []
    for times, wrong in POINTS:
        uses = simulated(pool, items, times, wrong)
        row = {"uses": times, "wrong": wrong, **figures(content, uses, embedder)}
        rows.append(row)
        print(line(name, row, rows[0]), file=sys.stderr, flush=True)
    return rows


def line(name: str, row: dict[str, Any], first: dict[str, Any]) -> str:
    """Return one row of the table."""
    learned = row["learned"]
    j = "    -" if row["j"] is None else f"{row['j']:5.3f}"
    return (
        f"{name:<16}{row['uses']:>3} {row['wrong']:>4.0%}  {row['ndcg']:.3f}"
        f" {row['ndcg'] - first['ndcg']:+.3f}  {row['hit1']:.3f}  {j}  {learned['outcome']}"
        f" ({learned['uses']} uses, {learned['prompts']} prompts)"
    )


def main() -> int:
    """Measure, print the table, keep the figures."""
    options = _options()
    folder = Path(options.data)
    if not folder.is_dir():
        print(f"{folder} does not exist; --data says where the labelled sets are", file=sys.stderr)
        return 2
    rows = {
        name: measure_set(folder, name, options.queries, options.embedder) for name in options.sets
    }
    head = f"{'set':<16}uses wrong  NDCG@10       Hit@1  J      what came of it\n"
    shown = head + "\n".join(line(n, row, of[0]) for n, of in rows.items() for row in of) + "\n"
    print(shown)
    kept = {
        "date": date.today().isoformat(),
        "version": ir.__version__,
        "queries": options.queries,
        "embedder": options.embedder,
        "sets": rows,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "learn.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    (RESULTS / "learn.txt").write_text(shown, "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    default = str(ROOT.parent / "shared/data/retrieval")
    parser.add_argument("--data", default=default, help="a folder of labelled sets")
    parser.add_argument("--queries", type=int, default=500, help="queries a set, at most")
    parser.add_argument("--embedder", default="wordllama")
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET", help="default: all")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
