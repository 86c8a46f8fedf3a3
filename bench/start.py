"""What a start costs: the first build, a warm start, memory, and idling.

    python bench/start.py [SIZE ...] [--idle SECONDS]

The first build ends when everything is embedded; `lexical_s` is when the first words are found. A
warm start ends with the first answered discover (median of five). Beside it, what a bare
interpreter that imports numpy takes and weighs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from typing import Any

from common import Daemon, configure, daemon, keep, write_documents, write_skills

from irclient import Client, Query

MOST_SKILLS = 10_000
_STARTS = 5


def main() -> None:
    """Measure every size and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000])
    parser.add_argument("--idle", type=float, default=20.0, help="seconds to watch it idle")
    options = parser.parse_args()
    floor = _numpy_floor()
    rows = [_compared(measure(size, options.idle), floor) for size in options.sizes]
    keep("start", rows, by="records")


def _compared(row: dict[str, Any], floor: dict[str, float]) -> dict[str, Any]:
    """Return a row beside the floor: what a process that imports numpy takes and weighs."""
    of_start = row["warm_first_answer_s"] / floor["numpy_start_s"]
    of_memory = row["rss_warm_mb"] / floor["numpy_rss_mb"]
    ratios = {"start_ratio_to_numpy": round(of_start, 2), "rss_ratio_to_numpy": round(of_memory, 2)}
    return {**row, **floor, **ratios}


def measure(size: int, idle: float) -> dict[str, Any]:
    """Build a corpus, stop, start again, idle; return the figures."""
    with daemon() as running:
        if size <= MOST_SKILLS:
            queries = write_skills(running.home / ".claude" / "skills", size)
        else:
            notes = running.home / "notes"
            configure(running.home, f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n')
            queries = write_documents(notes, size)
        row: dict[str, Any] = {"records": size}
        started = time.perf_counter()
        running.start()
        with running.client() as client:
            running.wait_serving(client)
            _until_found(client, queries[0].split()[0])
            row["lexical_s"] = round(time.perf_counter() - started, 2)
            running.wait_indexed(client, size)
            row["first_build_s"] = round(time.perf_counter() - started, 2)
        row["rss_after_build_mb"] = running.rss_mb()
        running.stop()
        row |= _warm(running, queries[0], size, idle)
        firsts = [row["warm_first_answer_s"]]
        for _ in range(_STARTS - 1):
            running.stop()
            firsts.append(_warm_start(running, queries[0]))
        row["warm_first_answer_s"] = round(statistics.median(firsts), 3)
    return row


def _until_found(client: Client, word: str) -> None:
    while not client.search(Query(word, mode="lexical")).results:
        time.sleep(0.02)


def _warm_start(running: Daemon, query: str) -> float:
    """Start a daemon that was stopped; return the seconds to its first answer."""
    started = time.perf_counter()
    running.start()
    with running.client() as client:
        running.wait_serving(client)
        client.discover(Query(query))
        return time.perf_counter() - started


def _warm(running: Daemon, query: str, size: int, idle: float) -> dict[str, Any]:
    started = time.perf_counter()
    running.start()
    with running.client() as client:
        running.wait_serving(client)
        client.discover(Query(query))
        answered = time.perf_counter() - started
        running.wait_indexed(client, size)
        reconciled = time.perf_counter() - started
    time.sleep(1)
    before = running.cpu_s()
    time.sleep(idle)
    return {
        "warm_first_answer_s": round(answered, 3),
        "warm_reconciled_s": round(reconciled, 2),
        "rss_warm_mb": running.rss_mb(),
        "idle_cpu_percent": round(100 * (running.cpu_s() - before) / idle, 3),
    }


def _numpy_floor() -> dict[str, float]:
    code = "import numpy, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    command, took = [sys.executable, "-c", code], []
    for _ in range(_STARTS):
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        took.append(time.perf_counter() - started)
    mb = int(done.stdout) / 1024
    return {"numpy_start_s": round(statistics.median(took), 3), "numpy_rss_mb": round(mb, 1)}


if __name__ == "__main__":
    main()
