"""Measure how good the answers are, on labelled sets, beside the peer `ir` in the same run.

Every set is built in memory as a corpus and asked through the real pipeline: `search` for the
ranking, `discover` with its defaults for what is committed, floors calibrated without labels. The
peer answers the same queries from its own environment (`bench/peer/answer.py`), as installed and in
its other settings; its best is the one of highest mean NDCG@10. Writes bench/results/quality.json
and quality.txt.

    python bench/quality.py [--data DIR] [--queries 1000] [--peer PYTHON] [--embedder NAME]
        [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

from common import peer_python

import irdaemon as ir
from irdaemon.contrib.evaluate.choice import calibrate_min_score, evaluate_selection
from irdaemon.contrib.evaluate.ranking import Run, ask_cases, evaluate_discovery
from irdaemon.discovery.cases import Case
from irdaemon.types import Hit, Query

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
SETS = ("metatool", "seal-tools", "bfcl", "apibench", "metatool-multi")
PEER = "ir==0.1.61"
# The peer is slow enough to be asked only the first of the same queries.
PEER_QUERIES = 300
MEASURES = {
    "ndcg": "NDCG@10",
    "hit1": "Hit@1",
    "recall": "R@10",
    "f1": "F1, retrieved",
    "f1_all": "F1, all queries",
    "committed": "mean committed",
    "j": "J",
    "j_retrieved": "J, gold retrieved",
    "j_best": "J, best floor by labels",
}


def read_set(folder: Path, wanted: int) -> dict[str, Any]:
    """Return the items of a set, a seeded sample of its queries, and its unanswerable ones."""
    items = {
        item["id"]: {key: item.get(key) or "" for key in ("name", "description", "text")}
        for item in _lines(folder / "corpus.jsonl")
    }
    cases = [Case(q["query"], tuple(q["gold"])) for q in _lines(folder / "queries.jsonl")]
    cases = [case for case in cases if case.gold]
    random.Random(0).shuffle(cases)
    outside = [Case(each["query"]) for each in _lines(folder / "out_of_scope.jsonl")]
    return {"items": items, "cases": cases[:wanted], "outside": outside[:wanted]}


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ours(
    name: str, content: dict[str, Any], embedder: str, asked: Query
) -> tuple[list[Run], list[Run]]:
    """Build one set in memory and ask it everything, shaped as `asked` is."""
    source = ir.CorpusSource.from_mapping(content["items"], name=name)
    corpus = ir.build(source, store=":memory:", embedder=embedder)
    inside = ask_cases(corpus, content["cases"], asked)
    outside = ask_cases(corpus, content["outside"], asked)
    corpus.close()
    return inside, outside


def measured(inside: Sequence[Run], outside: Sequence[Run]) -> dict[str, float | None]:
    """Return every figure of one system on one set."""
    found = evaluate_discovery(inside).measures
    chosen = evaluate_selection([*inside, *outside])
    kept = [run for run in inside if set(run.case.gold) & set(run.ranked)]
    among_kept = evaluate_selection([*kept, *outside])
    best = calibrate_min_score([*inside, *outside])
    return {
        "ndcg": found["ndcg@10"],
        "hit1": found["precision@1"],
        "recall": found["recall@10"],
        "f1": chosen.f1,
        "f1_all": chosen.f1_all,
        "committed": chosen.mean_committed,
        "j": chosen.j,
        "j_retrieved": among_kept.j,
        "j_best": round(best.j, 4) if outside else None,
    }


# -- the peer ------------------------------------------------------------------------------------


def ask_peer(
    python: str, sets: dict[str, Any], embedder: str = ""
) -> dict[str, dict[str, tuple[list[Run], list[Run]]]]:
    """Let the peer answer the first queries of every set, in every setting."""
    questions = {
        name: {
            "items": content["items"],
            "queries": [case.query for case in content["cases"][:PEER_QUERIES]],
            "outside": [case.query for case in content["outside"][:PEER_QUERIES]],
        }
        for name, content in sets.items()
    }
    with tempfile.TemporaryDirectory() as scratch:
        asked, answers = Path(scratch, "asked.json"), Path(scratch, "answers.json")
        asked.write_text(json.dumps(questions), "utf-8")
        script = str(ROOT / "bench" / "peer" / "answer.py")
        command = [os.path.abspath(python), "-W", "ignore", script, str(asked), str(answers)]
        # The peer writes its corpora under HOME: one that is thrown away.
        subprocess.run(
            [*command, *([embedder] if embedder else [])],
            check=True,
            cwd=scratch,
            env={**os.environ, "HOME": scratch, "PYTHONPATH": ""},
        )
        told = json.loads(answers.read_text("utf-8"))
    return {
        setting: {name: _runs(sets[name], answer) for name, answer in of_sets.items()}
        for setting, of_sets in told.items()
    }


def _runs(content: dict[str, Any], answer: dict[str, Any]) -> tuple[list[Run], list[Run]]:
    return (
        [_run(*pair) for pair in zip(content["cases"], answer["queries"], strict=False)],
        [_run(*pair) for pair in zip(content["outside"], answer["outside"], strict=False)],
    )


def _run(case: Case, said: dict[str, Any]) -> Run:
    hits = tuple(
        Hit("", each, each, "", said["top"] or 0.0, {}, "", "", {}) for each in said["ranked"]
    )
    return Run(case, hits, tuple(said["committed"]), not said["committed"], None)


# -- the report ----------------------------------------------------------------------------------


def macro(of_sets: dict[str, dict[str, float | None]]) -> dict[str, float | None]:
    """Return the mean over sets of every measure that some set has."""
    means: dict[str, float | None] = {}
    for measure in MEASURES:
        known = [row[measure] for row in of_sets.values()]
        values = [value for value in known if value is not None]
        means[measure] = round(fmean(values), 4) if values else None
    return means


def table(systems: dict[str, dict[str, dict[str, float | None]]]) -> str:
    """Return one block for each measure: systems down, sets across, then their mean."""
    lines = []
    names = list(next(iter(systems.values())))
    width = max(map(len, systems)) + 2
    for measure, said in MEASURES.items():
        lines.append(f"{said:<{width}}" + "".join(f"{name:>16}" for name in [*names, "mean"]))
        for system, of_sets in systems.items():
            values = [*(of_sets[name][measure] for name in names), macro(of_sets)[measure]]
            cells = "".join(f"{'-' if v is None else f'{v:.3f}':>16}" for v in values)
            lines.append(f"  {system:<{width - 2}}{cells}")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table, keep the figures."""
    options = _options()
    folder = Path(options.data)
    if not folder.is_dir():
        print(f"{folder} does not exist; --data says where the labelled sets are", file=sys.stderr)
        return 2
    sets = {name: read_set(folder / name, options.queries) for name in SETS}
    systems: dict[str, dict[str, dict[str, float | None]]] = {}
    label = "irdaemon" if options.embedder == "wordllama" else "irdaemon, better embedder"
    runs = {}
    for name, content in sets.items():
        print(f"irdaemon: {name}", file=sys.stderr, flush=True)
        runs[name] = ours(name, content, options.embedder, Query("", rounds=options.rounds))
    systems[label] = {name: measured(*each) for name, each in runs.items()}
    if options.peer:
        first = PEER_QUERIES
        systems[f"{label}, first {first}"] = {
            name: measured(inside[:first], outside[:first])
            for name, (inside, outside) in runs.items()
        }
        for setting, of_sets in ask_peer(options.peer, sets, options.peer_embedder).items():
            systems[f"ir, {setting}"] = {n: measured(*each) for n, each in of_sets.items()}
    _keep(options, systems)
    return 0


def _keep(options: argparse.Namespace, systems: dict[str, Any]) -> None:
    shown = table(systems)
    print(shown)
    kept = {
        "date": date.today().isoformat(),
        "version": ir.__version__,
        "peer": PEER if options.peer else None,
        "queries": options.queries,
        "peer_queries": PEER_QUERIES,
        "systems": {
            name: {"sets": of_sets, "mean": macro(of_sets)} for name, of_sets in systems.items()
        },
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{options.name}.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    (RESULTS / f"{options.name}.txt").write_text(shown, "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    default = os.environ.get("IRDAEMON_BENCH_DATA", str(ROOT.parent / "shared/data/retrieval"))
    parser.add_argument("--data", default=default, help="a folder of labelled sets")
    parser.add_argument("--queries", type=int, default=1_000, help="queries a set, at most")
    parser.add_argument("--peer", default=peer_python(), help="a python that has the peer")
    parser.add_argument("--embedder", default="wordllama")
    parser.add_argument("--peer-embedder", default="")
    parser.add_argument("--rounds", type=int, help="as of `irc discover`")
    parser.add_argument("--name", default="quality", help="of the files in bench/results")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
