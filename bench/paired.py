"""Compare two versions of irdaemon: pairs of runs in turns, the median ratio with its interval.

    python bench/paired.py PYTHON_OF_THE_OTHER [--pairs N] [--skills N]

Each run is a process of its own in the version's interpreter: a first build, discover, the prompt
hook, `irc discover`, edits, memory and a warm start, on the same generated skills. The order within
a pair changes from pair to pair, so that the load of the moment hits both alike. A ratio above 1
means that this version is slower or larger; `worse` where the lower end of the 95% interval
(bootstrap over pairs) is above 1.05.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import Daemon, daemon, keep, timed, write_skills
from freshness import edits
from hook import HOOK

from irclient import Client, Query

WORSE = 1.05
_RESAMPLES = 10_000
_QUERIES = 300
_PROCESSES = 40


def main() -> None:
    """Measure both versions, or once this interpreter's own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("other", help="the interpreter of an environment with the other version")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--skills", type=int, default=1_000)
    parser.add_argument("--once", action="store_true", help="measure this interpreter's version")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measure(options.skills)))
        return
    ratios: dict[str, list[float]] = {}
    for pair in range(options.pairs):
        sides = (sys.executable, options.other)
        order = sides if pair % 2 else sides[::-1]
        rows = {python: run_once(python, options.skills) for python in order}
        for name, figure in rows[sys.executable].items():
            ratios.setdefault(name, []).append(figure / rows[options.other][name])
        print(f"pair {pair + 1}: {json.dumps(rows[sys.executable])}", file=sys.stderr)
    keep("paired", [summarize(name, values) for name, values in ratios.items()])


def run_once(python: str, skills: int) -> dict[str, float]:
    """Return the figures of one run of a version."""
    command = [python, os.path.abspath(__file__), "-", "--once", "--skills", str(skills)]
    # Not here: a checkout in the working directory would come before the installed version.
    done = subprocess.run(command, cwd="/", stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def summarize(name: str, ratios: list[float]) -> dict[str, object]:
    """Return the median of ratios with its bootstrap interval."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES)
    )
    low, high = medians[int(_RESAMPLES * 0.025)], medians[int(_RESAMPLES * 0.975)]
    median = round(statistics.median(ratios), 3)
    interval = [round(low, 3), round(high, 3)]
    return {"figure": name, "ratio": median, "interval": interval, "worse": low > WORSE}


def measure(skills: int) -> dict[str, float]:
    """Return the figures of this interpreter's version, medians in milliseconds."""
    with daemon() as running:
        root = running.home / ".claude" / "skills"
        queries = write_skills(root, skills)
        started = time.perf_counter()
        running.start()
        with running.client() as client:
            running.wait_indexed(client, skills)
            row = {"first_build": (time.perf_counter() - started) * 1e3}
            row["discover"] = statistics.median(
                timed(lambda query=query: client.discover(Query(query)))
                for query in (queries * _QUERIES)[:_QUERIES]
            )
            row |= measure_commands(running, queries)
            row["edit_to_found"] = statistics.median(
                edits(client, sorted(root.rglob("SKILL.md")), fresh=False)
            )
            row["memory_mb"] = running.memory_mb()["pss"]
        running.stop()
        row["warm_start"] = timed(lambda: answer_after_start(running, queries[0]))
        return {name: round(figure, 3) for name, figure in row.items()}


def measure_commands(running: Daemon, queries: list[str]) -> dict[str, float]:
    """Return how long the whole process of a hook and of `irc discover` takes."""
    irc = str(Path(sys.executable).with_name("irc"))
    hook, command = [], []
    for turn in range(_PROCESSES):
        query = queries[turn % len(queries)]
        event = {"session_id": f"s{turn}", "hook_event_name": "UserPromptSubmit", "prompt": query}
        hook.append(timed(lambda event=event: run(running, HOOK, json.dumps(event))))
        command.append(timed(lambda query=query: run(running, [irc, "discover", query])))
    return {"hook": statistics.median(hook), "irc_discover": statistics.median(command)}


def run(running: Daemon, command: list[str], given: str = "") -> None:
    """Run a client's command to its end."""
    subprocess.run(command, input=given.encode(), capture_output=True, env=running.env)


def answer_after_start(running: Daemon, query: str) -> None:
    """Start the daemon, and return at its first answer."""
    running.start()
    with Client(running.socket, timeout=60) as client:
        running.wait_serving(client)
        client.discover(Query(query))


if __name__ == "__main__":
    main()
