"""Measure a discover over the socket against the bare round trip, in the same run.

Builds corpora of generated skills in a directory of its own, starts a daemon on them, and prints
medians, p99 and the ratio to a ping on the same kept socket. Writes bench/results/roundtrip.json.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from irclient import Client, Query
from irclient.errors import Unreachable

SIZES = (1_000, 10_000)
QUERIES = 300
WORDS = [f"{a}{b}" for a in "ka lo mi nu pe ra so ti vu za".split() for b in "bar del fin".split()]
TOPICS = ["parser", "invoice", "kubernetes", "camera", "protein", "ledger", "compiler", "forecast"]


def write_skills(root: Path, count: int, seed: int = 7) -> list[str]:
    """Write `count` skills of about 2 KB under `root`; return a query for each of some."""
    random_words = random.Random(seed)
    queries = []
    for number in range(count):
        words = random_words.choices(WORDS, k=40)
        topic = random_words.choice(TOPICS)
        folder = root / f"group-{number % 40}" / f"skill-{number}"
        folder.mkdir(parents=True)
        description = f"Handle {topic} work with {' '.join(words[:25])}. Use for {words[30]} tasks."
        body = " ".join(random_words.choices(WORDS, k=300))
        text = f"---\nname: skill-{number}\ndescription: {description}\n---\n# Steps\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, "utf-8")
        queries.append(f"{topic} {' '.join(words[:4])}")
    random_words.shuffle(queries)
    return queries[:QUERIES]


def timed(call: Callable[[], object]) -> float:
    """Return how many milliseconds a call takes."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1e3


def figures(samples: list[float]) -> dict[str, float]:
    """Return median, p95 and p99 of milliseconds."""
    ordered = sorted(samples)
    return {
        "p50": round(statistics.median(ordered), 3),
        "p95": round(ordered[int(len(ordered) * 0.95)], 3),
        "p99": round(ordered[int(len(ordered) * 0.99)], 3),
    }


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which a daemon of its own lives in `home`."""
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    places = {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "IRDAEMON_SOCKET": ""}
    xdg = {name: "" for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    return {**os.environ, **xdg, **places}


def measure(count: int) -> dict[str, object]:
    """Build, start, ask; return the figures for one size."""
    with tempfile.TemporaryDirectory(prefix="irb") as directory:
        home = Path(directory)
        queries = write_skills(home / ".claude" / "skills", count)
        env = environment(home)
        socket = str(home / "run" / "irdaemon" / "irdaemon.sock")
        daemon = subprocess.Popen([sys.executable, "-m", "irdaemon", "start"], env=env)
        try:
            started = time.perf_counter()
            with Client(socket) as client:
                wait_indexed(client, count)
                built = time.perf_counter() - started
                ping = [timed(client.ping) for _ in queries]
                asked = [timed(lambda q=q: client.discover(Query(q))) for q in queries]
        finally:
            daemon.terminate()
            daemon.wait(10)
    floor, ours = figures(ping), figures(asked)
    return {
        "skills": count,
        "first_build_s": round(built, 2),
        "ping_ms": floor,
        "discover_ms": ours,
        "ratio_p50": round(ours["p50"] / floor["p50"], 2),
    }


def wait_indexed(client: Client, count: int) -> None:
    """Wait until everything is indexed and embedded."""
    while True:
        try:
            state = client.status()
        except Unreachable:
            time.sleep(0.02)
            continue
        corpora = state["corpora"]
        if not state["queue"] and corpora and corpora[0]["vectors"] == count:
            return
        time.sleep(0.05)


def main() -> None:
    """Run every size, print and write the results."""
    results = [measure(count) for count in SIZES]
    for row in results:
        print(json.dumps(row))
    out = Path(__file__).parent / "results" / "roundtrip.json"
    out.parent.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    out.write_text(json.dumps({"load": load, "results": results}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
