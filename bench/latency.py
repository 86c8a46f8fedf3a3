"""How long a discover takes over the socket, beside its bare parts, in the same run.

    python bench/latency.py [SIZE ...] [--real SIZE ... --data DIR]

For each size: the round trip of a ping, the stages of the query path as the daemon measured them,
the whole discover of one client (hybrid, default selection) and what of it lies outside of the
engine, the throughput of sixteen, the memory when it rests, and the first answer after that.
`--real` sizes are of skills as large as real ones (see real_skills). With the peer `ir` installed
(make bench-quality does that), its in-process discover at the same sizes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from common import (
    ROOT,
    Daemon,
    configure,
    daemon,
    figures,
    keep,
    peer_python,
    timed,
    write_documents,
    write_skills,
)
from real_skills import add_data_option, write_real_skills

from irclient import Query

SIZES = (1_000, 10_000, 100_000)
QUERIES = 300
CLIENTS = 16
SECONDS = 4.0
# Up to here the corpus is of skills, a directory each; beyond, of short documents.
MOST_SKILLS = 10_000
# The daemon gives back pages a minute after the last request.
RESTS_AFTER_S = 75
RESTS = 2


def main() -> None:
    """Measure every size and keep the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int)
    parser.add_argument("--real", nargs="*", type=int, default=())
    add_data_option(parser)
    options = parser.parse_args()
    results = [measure(size) for size in options.sizes or (() if options.real else SIZES)]
    keep("latency", results + [measure(size, options.data) for size in options.real])


def measure(size: int, real: Path | None = None) -> dict[str, Any]:
    """Build a corpus, of copies of the `real` skills where those are given; ask, and measure it."""
    with daemon() as running:
        queries = _write(running, size, real)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, size)
            asked = queries[:QUERIES]
            ping = figures([timed(client.ping) for _ in asked])
            took = figures([timed(lambda q=q: client.discover(Query(q))) for q in asked])
            stages = client.status(profile=True).profile or {}
            some = {"$in": [f"note-{number}.md" for number in range(200)]}
            skills = real is not None or size <= MOST_SKILLS
            where = {"parent": "group-3"} if skills else {"filename": some}
            narrow = figures(
                [timed(lambda q=q: client.discover(Query(q, where=where))) for q in asked]
            )
            engine = stages["tier hybrid"]["p50"]
        row: dict[str, Any] = {
            "records": size,
            "real": real is not None,
            "outside_engine_ms": round(took["p50"] - engine, 3),
            "ping_ms": ping,
            "stages_p50_ms": {n: f["p50"] for n, f in stages.items() if " " not in n},
            "discover_ms": took,
            "filtered_ms": narrow,
            **_together(running, asked),
            "rss_mb": running.rss_mb(),
            **_rested(running, asked),
        }
        parts = ping["p50"] + sum(row["stages_p50_ms"][n] for n in ("embed", "lexical", "dense"))
        row["parts_ms"] = round(parts, 3)
        row["ratio_to_parts"] = round(took["p50"] / parts, 2)
        if skills:
            row["peer"] = _peer(running.home / ".claude" / "skills", asked)
    return row


def _rested(running: Daemon, queries: list[str]) -> dict[str, Any]:
    """Return the memory after answers, and when it rests, and what the next answers take."""
    busy = running.memory_mb()
    firsts = []
    for query in queries[:RESTS]:
        time.sleep(RESTS_AFTER_S)
        resting = running.memory_mb()
        with running.client() as client:
            client.ping()
            firsts.append(timed(lambda q=query: client.discover(Query(q + " again"))))
    return {"busy_mb": busy, "resting_mb": resting, "first_after_rest_ms": max(firsts)}


def _write(running: Daemon, size: int, real: Path | None) -> list[str]:
    if real is not None:
        return write_real_skills(running.home / ".claude" / "skills", real, size)
    if size <= MOST_SKILLS:
        return write_skills(running.home / ".claude" / "skills", size)
    notes = running.home / "notes"
    configure(running.home, f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n')
    return write_documents(notes, size)


def _together(running: Daemon, queries: list[str]) -> dict[str, float]:
    """Return how many queries a second sixteen clients get answered, and the slowest's share."""
    counts = [0] * CLIENTS
    end = time.monotonic() + SECONDS

    def ask(number: int) -> None:
        with running.client() as client:
            while time.monotonic() < end:
                client.discover(Query(queries[(number + counts[number]) % len(queries)]))
                counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "sixteen_clients_per_s": round(sum(counts) / SECONDS, 1),
        "slowest_client_share": round(min(counts) / max(max(counts), 1), 2),
    }


def _peer(skills: Path, queries: list[str]) -> dict[str, Any] | None:
    """Return what the peer takes to build the same corpus and to answer in its own process."""
    python = peer_python()
    if not python:
        return None
    script = str(ROOT / "bench" / "peer" / "timing.py")
    done = subprocess.run(
        [python, "-W", "ignore", script, str(skills)],
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        env={
            "HOME": str(skills.parent.parent),
            "PATH": "/usr/bin:/bin",
            "OPENBLAS_NUM_THREADS": "1",
        },
    )
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"build_s": told["build_s"], "discover_ms": figures(told["discover_ms"])}


if __name__ == "__main__":
    main()
