"""How cost grows with the number of records, and where an approximate graph pays.

    python bench/scale.py [SIZE ...] [--graphed N]

Index and query path in this process, over synthetic rows (40 Zipf words and a random-walk vector a
record): what one changed record costs, what each stage of a query takes, and up to N records the
same with an HNSW graph and its recall@10 against exact (a graph of a million takes a quarter of an
hour to build, so by default it is not). Beside it the bare numpy floor: the
matrix product and the top ten. Writes scale.json and scale.svg; sizes that were measured before
stay in both.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from dataclasses import replace
from typing import Any

# As the daemon has it: two threads wait for each other on a machine that has other work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
from common import RESULTS, figures, keep, timed, vocabulary
from numpy.typing import NDArray
from synthetic import DIM, WORDS, clustered, noise, zipf

from irdaemon.discovery.discover import Models, search
from irdaemon.discovery.query import ParsedQuery
from irdaemon.embed import QueryVector
from irdaemon.index import CorpusIndex, Names, Rows, Snapshot, build_graph
from irdaemon.index.columns import Columns
from irdaemon.index.dense import make_dense
from irdaemon.index.lexical import Lexical
from irdaemon.runtime import profile

SIZES = (1_000, 10_000, 100_000, 1_000_000)
GRAPHED = 100_000
QUERIES = 60
CHANGES = 12


def main() -> None:
    """Measure every size, keep the figures and draw them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES[:-1])
    parser.add_argument("--graphed", type=int, default=GRAPHED, help="the largest with a graph")
    options = parser.parse_args()
    measured = [measure(size, options.graphed) for size in options.sizes]
    results = keep("scale", measured, by="records")
    (RESULTS / "scale.svg").write_text(drawn(results), "utf-8")


def measure(size: int, graphed: int) -> dict[str, Any]:
    """Build an index of so many records; return what it costs to ask and to change it."""
    chance = np.random.default_rng(size)
    words = vocabulary()
    known = {word: number for number, word in enumerate(words)}
    rows = synthetic(chance, size, len(words))
    started = time.perf_counter()
    lexical = Lexical.from_rows(rows)
    built = time.perf_counter() - started
    index = indexed(rows, lexical)
    texts = [" ".join(words[i] for i in zipf(chance, 6, len(words))) for _ in range(QUERIES)]
    near = rows.vectors.array[chance.integers(0, size, QUERIES)]
    vectors = dict(zip(texts, near + noise(chance, near), strict=True))
    row: dict[str, Any] = {
        "records": size,
        "postings_built_s": round(built, 3),
        "floor_dot_top10_ms": _floor(rows, vectors),
        "exact": asked(index, known, vectors),
        **_changes(index, chance, len(words)),
    }
    if size <= graphed:
        started = time.perf_counter()
        graph = build_graph(rows)
        row["graph_built_s"] = round(time.perf_counter() - started, 2)
        approximate = replace(index, dense=make_dense(rows, graph))
        row["graph"] = asked(approximate, known, vectors)
        row["recall_at_10"] = _recall(index, approximate, vectors)
    quickest = row.get("graph", row["exact"])["search_ms"]["p50"]
    row["ratio_to_floor"] = round(quickest / row["floor_dot_top10_ms"], 2)
    return row


def synthetic(chance: np.random.Generator, size: int, n_terms: int) -> Rows:
    """Return rows of random records, one an artifact."""
    ids = zipf(chance, size * WORDS, n_terms).astype(np.int32).reshape(size, WORDS)
    ids.sort(axis=1)
    while (repeats := ids[:, 1:] == ids[:, :-1]).any():
        ids[:, 1:][repeats] = chance.integers(0, n_terms, int(repeats.sum()))
        ids.sort(axis=1)
    counts = np.ones(WORDS, np.float32).tobytes()
    artifacts = [
        (n + 1, f"id-{n}", f"note {n}", "", b"\x80", str(n), ids[n, :2].tobytes())
        for n in range(size)
    ]
    records = [
        (n + 1, "document", 0, f"note {n}", b"\x80", b"", ids[n].tobytes(), counts)
        for n in range(size)
    ]
    rows = Rows.build(artifacts, records, DIM, {})
    rows.vectors.array[:] = clustered(chance, size, max(8, size // 200))
    rows.embedded[:] = True
    return rows


def indexed(rows: Rows, lexical: Lexical) -> CorpusIndex:
    """Return the exact index of rows."""
    return CorpusIndex(
        corpus="notes",
        embedder="e",
        rows=rows,
        lexical=lexical,
        dense=make_dense(rows),
        columns=Columns(rows),
        names=Names.build(rows, lexical),
        last_reconcile=1.0,
    )


def asked(index: CorpusIndex, known: dict[str, int], vectors: dict[str, Any]) -> dict[str, Any]:
    """Ask every query; return the whole and the stages, p50 in milliseconds."""
    snapshot = Snapshot(1, {"notes": index}, known)
    models = Models(lambda text, embedder: QueryVector(vectors[text]))
    profile._samples.clear()
    whole = figures([timed(lambda q=q: search(snapshot, ParsedQuery(q), models)) for q in vectors])
    stages = {n: f["p50"] for n, f in profile.summarize_stages().items() if " " not in n}
    return {"search_ms": whole, "stages_p50_ms": stages}


def _changes(index: CorpusIndex, chance: np.random.Generator, n_terms: int) -> dict[str, float]:
    """Return what one change after another takes, and the first, which makes room for others."""
    took = []
    for _ in range(CHANGES):
        rows, number = _more(index, chance, n_terms)
        started = time.perf_counter()
        index = _level(index, rows, int(chance.integers(1, number)))
        took.append((time.perf_counter() - started) * 1e3)
    return {"change_ms": figures(took[1:])["p50"], "first_change_ms": round(took[0], 1)}


def _more(index: CorpusIndex, chance: np.random.Generator, n_terms: int) -> tuple[Rows, int]:
    """Return the rows of one more record, and its number."""
    number = int(index.rows.numbers.array[-1]) + 1
    rows = synthetic(chance, 1, n_terms)
    rows.numbers.array[:] = number
    return replace(rows, last=number), number


def _level(index: CorpusIndex, more: Rows, gone: int) -> CorpusIndex:
    """Return an index without one record and with another, as a publish makes it."""
    rows = index.rows._drop_gone([gone])._append(more)
    lexical = Lexical.from_rows(rows, index.lexical)
    return replace(
        index,
        rows=rows,
        lexical=lexical,
        dense=make_dense(rows, previous=index.dense),
        columns=Columns.build(rows, index.columns),
        names=Names.build(rows, lexical, index.names),
    )


def _floor(rows: Rows, vectors: dict[str, Any]) -> float:
    def bare(vector: NDArray[np.float32]) -> None:
        scores = rows.vectors.array @ vector
        np.argpartition(scores, len(scores) - 10)

    return figures([timed(lambda v=v: bare(v)) for v in vectors.values()])["p50"]


def _recall(exact: CorpusIndex, approximate: CorpusIndex, vectors: dict[str, Any]) -> float:
    shares = []
    for vector in vectors.values():
        wanted = set(np.argsort(-exact.dense.scores(vector))[:10].tolist())
        found = approximate.dense.candidates(vector, 100)
        best = found[np.argsort(-approximate.dense.score_at(vector, found))[:10]]
        shares.append(len(wanted & set(best.tolist())) / 10)
    return round(float(np.mean(shares)), 4)


def drawn(results: list[dict[str, Any]]) -> str:
    """Return the growth of cost as an SVG with two logarithmic axes."""
    lines = {
        "search, exact": [(r["records"], r["exact"]["search_ms"]["p50"]) for r in results],
        "search, graph": [
            (r["records"], r["graph"]["search_ms"]["p50"]) for r in results if "graph" in r
        ],
        "one change": [(r["records"], r["change_ms"]) for r in results],
        "bare dot and top ten": [(r["records"], r["floor_dot_top10_ms"]) for r in results],
    }
    colours = ("#1f77b4", "#2ca02c", "#d62728", "#999999")
    body = [_grid()]
    for (name, points), colour in zip(lines.items(), colours, strict=True):
        path = " ".join(f"{_x(n):.0f},{_y(ms):.0f}" for n, ms in points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if points:
            x, y = _x(points[-1][0]) + 6, _y(points[-1][1]) + 4
            body.append(f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}">{name}</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="420"'
        ' font-family="sans-serif" font-size="12">' + "".join(body) + "</svg>\n"
    )


def _grid() -> str:
    marks = []
    for power in range(3, 7):
        x = _x(10**power)
        marks.append(f'<line x1="{x:.0f}" y1="20" x2="{x:.0f}" y2="380" stroke="#eee"/>')
        marks.append(f'<text x="{x - 12:.0f}" y="400">10^{power} records</text>')
    for power in range(-2, 4):
        y = _y(10**power)
        marks.append(f'<line x1="60" y1="{y:.0f}" x2="620" y2="{y:.0f}" stroke="#eee"/>')
        marks.append(f'<text x="4" y="{y + 4:.0f}">{10**power:g} ms</text>')
    return "".join(marks)


def _x(records: float) -> float:
    return 60 + (math.log10(records) - 3) * 180


def _y(ms: float) -> float:
    return 380 - (math.log10(max(ms, 0.01)) + 2) * 72


if __name__ == "__main__":
    main()
