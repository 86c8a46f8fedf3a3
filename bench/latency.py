"""How long a discover takes over the socket, beside its bare parts, in the same run.

    python bench/latency.py [SIZE ...]

For each size: the round trip of a ping, the stages of the query path as the daemon measured them,
the whole discover of one client (hybrid, default selection), and the throughput of sixteen. With
the peer `ir` installed (make bench-quality does that), its in-process discover at the same sizes.
"""

from __future__ import annotations

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

from irclient import Query

SIZES = (1_000, 10_000, 100_000)
QUERIES = 300
CLIENTS = 16
SECONDS = 4.0
# Up to here the corpus is of skills, a directory each; beyond, of short documents.
MOST_SKILLS = 10_000


def main() -> None:
    """Measure every size and keep the figures."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    keep("latency", [measure(size) for size in sizes])


def measure(size: int) -> dict[str, Any]:
    """Build a corpus, ask it, and return the figures."""
    with daemon() as running:
        queries = _write(running, size)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, size)
            asked = queries[:QUERIES]
            ping = figures([timed(client.ping) for _ in asked])
            took = figures([timed(lambda q=q: client.discover(Query(q))) for q in asked])
            stages = client.status(profile=True).profile or {}
            some = {"$in": [f"note-{number}.md" for number in range(200)]}
            where = {"parent": "group-3"} if size <= MOST_SKILLS else {"filename": some}
            narrow = figures(
                [timed(lambda q=q: client.discover(Query(q, where=where))) for q in asked]
            )
        row: dict[str, Any] = {
            "records": size,
            "ping_ms": ping,
            "stages_p50_ms": {n: f["p50"] for n, f in stages.items() if " " not in n},
            "discover_ms": took,
            "filtered_ms": narrow,
            **_together(running, asked),
            "rss_mb": running.rss_mb(),
        }
        parts = ping["p50"] + sum(row["stages_p50_ms"][n] for n in ("embed", "lexical", "dense"))
        row["parts_ms"] = round(parts, 3)
        row["ratio_to_parts"] = round(took["p50"] / parts, 2)
        if size <= MOST_SKILLS:
            row["peer"] = _peer(running.home / ".claude" / "skills", asked)
    return row


def _write(running: Daemon, size: int) -> list[str]:
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
