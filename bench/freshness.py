"""How soon a change is found by another process, and what a storm of changes costs.

    python bench/freshness.py [SKILLS]

Edits: from the close of a changed SKILL.md until a client finds its new word. Fresh: a search with
`fresh` right after the edit. Storm: 5,000 skills are rewritten as a checkout does it (unlinked and
made again); how long until all are served, and what queries take meanwhile. With the peer `ir`
installed, its rebuild and first discover after one change.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

from common import daemon, figures, keep, timed, write_skills

from irclient import Client, Query

SKILLS = 10_000
EDITS = 60
STORM = 5_000
_LETTERS = "bcdfghjklmnpqrstvwxz"


def main() -> None:
    """Measure and keep the figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else SKILLS
    with daemon() as running:
        skills = running.home / ".claude" / "skills"
        queries = write_skills(skills, count)
        running.start()
        with running.client() as client:
            running.wait_indexed(client, count)
            paths = sorted(skills.rglob("SKILL.md"))
            row: dict[str, Any] = {
                "skills": count,
                "edit_to_found_ms": figures(edits(client, paths, fresh=False)),
                "fresh_search_ms": figures(edits(client, paths, fresh=True)),
                **storm(client, paths[:STORM], queries),
            }
    keep("freshness", row)


def edits(client: Client, paths: list[Path], fresh: bool) -> list[float]:
    """Change one skill after another; return how long each new word took to be found."""
    took = []
    chance = random.Random(fresh)
    for number in range(EDITS):
        path = paths[number * 7]
        word = "".join(chance.choices(_LETTERS, k=12))
        path.write_text(path.read_text("utf-8").replace("Handle", f"Handle {word}", 1), "utf-8")
        query = Query(word, mode="lexical", k=1, fresh=fresh)
        took.append(timed(lambda query=query: _until_found(client, query)))
        time.sleep(0.1)
    return took


def _until_found(client: Client, query: Query) -> None:
    while not client.search(query).results:
        if query.fresh:
            raise SystemExit("a fresh answer missed a change made before it")


def storm(client: Client, paths: list[Path], queries: list[str]) -> dict[str, Any]:
    """Rewrite many skills at once; return how long it takes, and the queries meanwhile."""
    quiet = [_asked(client, queries, number) for number in range(200)]
    for path in paths:
        text = path.read_text("utf-8").rstrip("\n")
        path.unlink()
        path.write_text(f"{text} stormword\n", "utf-8")
    ended = time.perf_counter()
    meanwhile = []
    while True:
        meanwhile.append(_asked(client, queries, len(meanwhile)))
        if len(meanwhile) % 5 == 0:
            state = client.status()
            if not state.queue and not any(c.pending for c in state.corpora):
                break
    settled = time.perf_counter() - ended
    found = client.search(Query("stormword", mode="lexical", k=1)).results
    if not found:
        raise SystemExit("the storm was not indexed")
    return {
        "storm_files": len(paths),
        "storm_settled_s": round(settled, 2),
        "quiet_ms": figures(quiet),
        "meanwhile_ms": figures(meanwhile),
    }


def _asked(client: Client, queries: list[str], number: int) -> float:
    time.sleep(0.02)
    return timed(lambda: client.discover(Query(queries[number % len(queries)])))


if __name__ == "__main__":
    main()
