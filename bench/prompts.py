"""Measure what expected prompts gain, on labelled sets and on labelled homes.

Of each set some items have prompts in bench/expected/SET.jsonl, written from their text alone.
Asked are, before and after they are taken in, the queries whose gold lies among those items: of a
corpus of just these (*own*), and of the whole set (*whole*). `bench/homes.py` measures the homes.
Writes bench/results/prompts.json.

    python bench/prompts.py [--data DIR] [--queries 1000] [--words W --share S]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import ROOT, keep
from quality import measured, read_set

import irdaemon as ir
from irdaemon.contrib.evaluate.ranking import answered
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
    before = measured(answered(corpus, cases, Query("")), [])
    built = find_built(corpus)
    expected = {id: Expected(Expected.of(each).prompts, rate) for id, each in prompts.items()}
    state, writer = built.engine.state, built.engine.writer
    changed = state.ledger.prompts.publish(built.name, expected, PERSON)
    show_changed(state, writer.publisher, state.corpora[built.name], changed)
    built.engine.drain()
    after = measured(answered(corpus, cases, Query("")), [])
    corpus.close()
    return {name: (before[name], after[name]) for name in FIGURES}


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
    options = parser.parse_args()
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
