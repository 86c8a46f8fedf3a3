"""What a number of records takes: memory, disk, queries a second and money, by a model.

    python bench/capacity.py [--queries Q] [--memory-price P] [--core-price P] [--disk-price P]

The model is linear in the records of a corpus; times are processor times, as those by the clock
are of a machine that did other work beside; its constants come from the measured runs of
bench/engines.py (bench/results/engines*.json: the smallest and the largest of an engine give a
line, sizes between are what it is checked by). It prints that comparison and then the table of
bench/HISTORY.md. Prices are a month's, of memory and disk a gigabyte, of processors a core:
assumptions to replace by your own.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import RESULTS
from synthetic import DIM, WORDS

SIZES = tuple(10**power for power in range(5, 10))
# Larger corpora are divided: a query names corpora, and each is a shard of its own.
CORPUS = 1_000_000
UNFILTERED = "unfiltered"
# What is not measured. Qdrant: vectors and their graph in memory (its vendor's rule of thumb),
# postings of 8 bytes in memory and on disk, payload on disk by the points that the adapter makes.
GRAPHED = 1.5
POSTING = 8
LOCAL_MOST = 10_000_000
ONE_SERVER = 20_000_000
PLACED_MOST = 200_000_000


@dataclass(frozen=True)
class Line:
    """A quantity by the records of a corpus: `base + slope * records`."""

    base: float
    slope: float

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> Line:
        """Return the line through the first point and the last; from nothing for one."""
        (x, y), (at, value) = (min(points), max(points)) if len(points) > 1 else ((0, 0), points[0])
        slope = max(0.0, (value - y) / (at - x))
        return cls(max(0.0, value - slope * at), slope)

    def at(self, records: float) -> float:
        """Return the quantity at a number of records."""
        return self.base + self.slope * records


@dataclass(frozen=True)
class Prices:
    """What a gigabyte of memory, a core and a gigabyte of disk cost a month."""

    memory: float
    core: float
    disk: float


@dataclass(frozen=True)
class Need:
    """What a design needs for some records and queries: of all its servers together."""

    design: str
    servers: int
    memory: float
    disk: float
    cores: float
    query_ms: float
    measured: bool = False

    def cost(self, prices: Prices) -> float:
        """Return dollars a month."""
        of_memory, of_disk = self.memory / 1e9 * prices.memory, self.disk / 1e9 * prices.disk
        return of_memory + of_disk + self.cores * prices.core


def main() -> None:
    """Compare the model with what was measured, and print what each number of records takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=float, default=20.0, help="a second, at the peak")
    parser.add_argument("--memory-price", type=float, default=4.0)
    parser.add_argument("--core-price", type=float, default=25.0)
    parser.add_argument("--disk-price", type=float, default=0.1)
    options = parser.parse_args()
    runs = measured()
    if not {"local", "postgres"} <= runs.keys():
        raise SystemExit("nothing was measured yet: make bench-engines")
    for line in compared(runs):
        print(line)
    prices = Prices(options.memory_price, options.core_price, options.disk_price)
    print(
        f"\n| records | design | servers | memory GB | disk GB | cores for {options.queries:g}/s"
        " | processor ms a query | $ a month | |\n|---|---|---|---|---|---|---|---|---|"
    )
    for size in SIZES:
        for need in needs(runs, size, options.queries):
            print(row(size, need, prices))


def measured() -> dict[str, list[Mapping[str, Any]]]:
    """Return the measured runs by engine, the smallest first."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for path in sorted(RESULTS.glob("engines*.json")):
        for each in json.loads(path.read_text("utf-8"))["results"]:
            runs.setdefault(each["engine"], []).append(each)
    return {name: sorted(of, key=lambda run: run["records"]) for name, of in runs.items()}


def compared(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield lines that compare the model with what was measured."""
    yield "| engine | records | cpu ms a query | by the model | bytes a record | by the model |"
    yield "|---|---|---|---|---|---|"
    for name, of in runs.items():
        times, room = _time(of), _room(of)
        for run in of:
            n = run["records"]
            took = f"{_cpu(run):.1f} | {times.at(n):.1f}"
            yield f"| {name} | {n:,} | {took} | {_held(run) / n:,.0f} | {room.at(n) / n:,.0f} |"


def needs(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], size: int, queries: float
) -> Iterator[Need]:
    """Yield what each design that reaches so far needs."""
    if size <= LOCAL_MOST:
        yield _local(runs, size, queries)
    if size <= ONE_SERVER:
        yield _postgres(runs["postgres"], size, queries, 1)
    elif size <= PLACED_MOST:
        yield _postgres(runs["postgres"], size, queries, math.ceil(size / ONE_SERVER))
    if size >= ONE_SERVER / 2:
        yield _qdrant(runs, size, queries)


def _local(runs: Mapping[str, Sequence[Mapping[str, Any]]], size: int, queries: float) -> Need:
    held, of = _room(runs["local"]).at(size), runs.get("local, graph") or runs["local"]
    took = _time(of).at(size)
    known = _within(of, size)
    return Need("one daemon", 1, held, 2 * held, queries * took / 1e3, took, known)


def _postgres(runs: Sequence[Mapping[str, Any]], size: int, queries: float, primaries: int) -> Need:
    """Return what primaries with two standbys each need; memory for what queries go through."""
    disk, servers = 3 * _room(runs).at(size), 3 * primaries
    took = _time(runs).at(min(size, CORPUS))
    cores = queries * took / 1e3 + primaries
    design = "PostgreSQL" if primaries == 1 else "PostgreSQL, placed"
    return Need(design, servers, disk * _hot(runs[-1]), disk, cores, took, _within(runs, size))


def _qdrant(runs: Mapping[str, Sequence[Mapping[str, Any]]], size: int, queries: float) -> Need:
    """Return what nodes of 64 GB need for two copies: by the size of points, never measured."""
    memory = 2 * size * (4 * DIM * GRAPHED + POSTING * WORDS)
    disk = 2 * size * (4 * DIM * GRAPHED + POSTING * WORDS + _payload())
    nodes = max(3, math.ceil(memory / 48e9))
    return Need("Qdrant", nodes, memory, disk, nodes * 4, float("nan"))


def _payload() -> int:
    """Return the bytes of a record's payload and of its artifact's, as sent."""
    from synthetic import SentArtifacts, SentRecords, Synthetic

    from irdaemon.contrib.backends.qdrant.points import make_artifact_points, make_record_batches
    from irdaemon.index.backend import IndexDelta, Totals

    corpus = Synthetic(1_000)
    totals = Totals("notes", "files", "l", "h", 1, "e", DIM, "r", 1_000, 1_000, 1_000, 40.0)
    delta = IndexDelta(totals, 0, 1, (), SentArtifacts(corpus.parts), SentRecords(corpus.parts))
    points = [point for points, _ in make_record_batches(delta, 1) for point in points]
    points += make_artifact_points(delta, 1)
    return sum(len(json.dumps(point.payload)) for point in points) // corpus.size


def _cpu(run: Mapping[str, Any]) -> float:
    """Return the processor time of a query, here and at the server, in milliseconds."""
    return float(sum(run["discover_ms"][UNFILTERED]["cpu_ms"].values()))


def _time(runs: Sequence[Mapping[str, Any]]) -> Line:
    return Line.through([(run["records"], _cpu(run)) for run in runs])


def _held(run: Mapping[str, Any]) -> float:
    """Return the bytes that a run's records took: on disk, or in memory for what has none."""
    return float((run.get("disk") or {}).get("data") or run.get("memory") or 0)


def _room(runs: Sequence[Mapping[str, Any]]) -> Line:
    return Line.through([(run["records"], _held(run)) for run in runs])


def _hot(run: Mapping[str, Any]) -> float:
    """Return the share of the data that queries go through: vectors, postings, fields."""
    sizes = run["disk"]
    tables = ("vectors", "postings", "slots", "frequencies", "words", "naming")
    return sum(sizes.get(name, 0) for name in tables) / sizes["data"]


def _within(runs: Sequence[Mapping[str, Any]], size: int) -> bool:
    return bool(runs[0]["records"] <= size <= runs[-1]["records"])


def row(size: int, need: Need, prices: Prices) -> str:
    """Return a line of the table."""
    took = "" if math.isnan(need.query_ms) else f"{need.query_ms:.0f}"
    how = "between measured" if need.measured else "extrapolated"
    return (
        f"| {size:,} | {need.design} | {need.servers} | {_shown(need.memory)} |"
        f" {_shown(need.disk)} | {need.cores:.1f} | {took} | {need.cost(prices):,.0f} | {how} |"
    )


def _shown(size: float) -> str:
    return f"{size / 1e9:,.1f}" if size < 1e11 else f"{size / 1e9:,.0f}"


if __name__ == "__main__":
    main()
