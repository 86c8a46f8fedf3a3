"""Measure what expected prompts gain, on labelled sets and on labelled homes.

Of each set some items have prompts in bench/expected/SET.jsonl, written from their text alone.
Asked are, before and after they are taken in, the queries whose gold lies among those items: of a
corpus of just these (*own*), and of the whole set (*whole*). `bench/homes.py` measures the homes.
Writes bench/results/prompts.json.

With `--cost N`: what eight prompts of each of N generated skills cost a daemon, in memory (after a
new start, each page shared out) and in the median of discover.

    python bench/prompts.py [--data DIR] [--queries 1000] [--words W --share S] [--cost N] [SET ...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import ROOT, Writer, daemon, keep, write_skills
from projects import ask_many
from quality import measured, read_set

import irdaemon as ir
from irdaemon.contrib.evaluate.ranking import ask_cases
from irdaemon.engine.indexing import show_changed
from irdaemon.ledger import Expected, PromptRate
from irdaemon.ledger.prompts import PERSON
from irdaemon.ledger.rows import EXPECTED_RATE
from irdaemon.library.built import find_built
from irdaemon.types import Query

PROMPTS = ROOT / "bench" / "expected"
SETS = {"metatool": "metatool", "metatool-multi": "metatool"} | {
    name: name for name in ("seal-tools", "bfcl", "apibench")
}
FIGURES = ("ndcg", "hit1", "recall")


def read_prompts(name: str) -> dict[str, list[str]]:
    """Return the prompts of a set's items, by id."""
    lines = (PROMPTS / f"{name}.jsonl").read_text("utf-8").splitlines()
    return {each["id"]: each["prompts"] for each in map(json.loads, lines)}


def measure(
    items: Mapping[str, Any], cases: list[Any], prompts: Mapping[str, list[str]], rate: PromptRate
) -> dict[str, Any]:
    """Return the figures of a corpus without and with prompts."""
    corpus = ir.build(ir.CorpusSource.from_mapping(dict(items), name="set"), store=":memory:")
    before = measured(ask_cases(corpus, cases, Query("")), [])
    built = find_built(corpus)
    expected = {
        id: Expected(Expected.from_prompts(each).prompts, rate) for id, each in prompts.items()
    }
    state, writer = built.engine.state, built.engine.writer
    changed = state.ledger.prompts.publish(built.name, expected, PERSON)
    show_changed(state, writer.publisher, state.corpora[built.name], changed)
    built.engine.drain()
    after = measured(ask_cases(corpus, cases, Query("")), [])
    corpus.close()
    return {name: (before[name], after[name]) for name in FIGURES}


def measure_cost(count: int) -> dict[str, Any]:
    """Return memory in megabytes and discover in milliseconds, without prompts and with them."""
    writer = Writer(13)
    with daemon() as running, tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        queries = write_skills(running.home / ".claude" / "skills", count)[:300]
        for number in range(count):
            # With a word that all of one item have, so that they help and count.
            prompts = [" ".join([*writer.words(8), f"need{number}"]) for _ in range(8)]
            print(json.dumps({"name": f"skill-{number}", "prompts": prompts}), file=file)
        file.flush()
        rows = []
        for step in ("without", "with"):
            running.start()
            with running.client() as client:
                running.wait_indexed(client, count)
                ask_many(client, queries)
                took = [ask_many(client, queries) for _ in range(5)]
                rows.append({**running.memory_mb(), "p50_ms": round(min(took), 3)})
            if step == "without":
                words = ("prompts", "import", file.name, "-c", "skills")
                command = [sys.executable, "-m", "irclient.quick", *words]
                started = time.perf_counter()
                subprocess.run(command, env=running.env, check=True, stdout=sys.stderr)
                rows[0]["import_s"] = round(time.perf_counter() - started, 1)
                with running.client() as client:
                    running.wait_indexed(client, count)
            running.stop()
    return {"cost of prompts": 8 * count, "without": rows[0], "with": rows[1]}


def main() -> int:
    """Measure every set and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", default=[*SETS])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "retrieval")
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--words", type=float, default=EXPECTED_RATE.words)
    parser.add_argument("--share", type=float, default=EXPECTED_RATE.share)
    parser.add_argument("--cost", type=int, default=0, help="so many skills, and no set")
    options = parser.parse_args()
    if options.cost:
        keep("prompts-cost", [measure_cost(options.cost)])
        return 0
    rate, rows = PromptRate(options.words, options.share), []
    for name in options.sets:
        content, prompts = read_set(options.data / name, 10_000), read_prompts(SETS[name])
        cases = [each for each in content["cases"] if set(each.gold) <= set(prompts)]
        cases = cases[: options.queries]
        own = {id: item for id, item in content["items"].items() if id in prompts}
        row: dict[str, Any] = {"set": name, "items": len(prompts), "queries": len(cases)}
        row["own"] = measure(own, cases, prompts, rate)
        if len(own) < len(content["items"]):
            others = content["cases"][: options.queries]
            row["whole"] = measure(content["items"], others, prompts, rate)
        rows.append(row)
        print(json.dumps(row), file=sys.stderr)
    keep("prompts", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
