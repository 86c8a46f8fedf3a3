"""What a first build costs, and a storm, on skills as large as real ones.

    python bench/build.py --data DIR [--skills N ...] [--notes N]

DIR holds real skills (see real_skills.py). For each number of skills (5,000 and 25,000): how long
a real daemon takes from its start until every name and description answers, by words and in both
legs, and until all are searchable in both legs; the peak of what it and its child processes hold
(Pss, sampled), and what they hold afterwards. With the peer `ir` installed, its build of the same
skills in the same run, and these times as shares of that. At the smallest number also 5,000
skills rewritten at once: how long until all are served, and what queries take meanwhile. Then a
corpus of short notes. The daemon writes at the priority of the peer, so that what else the machine
does holds both up alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from common import ROOT, Daemon, configure, daemon, keep, peer_python, write_documents
from freshness import storm
from real_skills import add_data_option, originals, write_real_skills

from irclient import Client
from irclient.results import CorpusStatus

_SAME_PRIORITY = "[limits]\nnice = 0\n"
SKILLS = (5_000, 25_000)
NOTES = 100_000
_SAMPLED_EVERY_S = _LOOKED_EVERY_S = 0.25
_SETTLED_AFTER_S = 10.0


class Memory(threading.Thread):
    """Sample the proportional memory of a daemon and its child processes, in megabytes."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self._pid, self._ended = pid, threading.Event()
        self.peak = self.peak_daemon = 0.0
        self.most_children = 0

    def run(self) -> None:
        """Sample until told to end."""
        while not self._ended.wait(_SAMPLED_EVERY_S):
            self.sample()

    def sample(self) -> float:
        """Return what all of them hold now, and note the peak."""
        children = _children(self._pid)
        own = _pss_mb(self._pid)
        whole = own + sum(map(_pss_mb, children))
        self.peak, self.peak_daemon = max(self.peak, whole), max(self.peak_daemon, own)
        self.most_children = max(self.most_children, len(children))
        return round(whole, 1)

    def end(self) -> dict[str, Any]:
        """Stop sampling; return the peaks."""
        self._ended.set()
        self.join()
        return {
            "peak_mb": round(self.peak, 1),
            "peak_daemon_mb": round(self.peak_daemon, 1),
            "child_processes": self.most_children,
        }


def main() -> None:
    """Measure every size and keep the figures."""
    parser = argparse.ArgumentParser()
    add_data_option(parser)
    parser.add_argument("--skills", type=int, nargs="*", default=list(SKILLS))
    parser.add_argument("--notes", type=int, default=NOTES, help="0: leave them out")
    options = parser.parse_args()
    originals(options.data)
    rows = [of_skills(options.data, count, count == min(SKILLS)) for count in options.skills]
    keep("build", rows + ([of_notes(options.notes)] if options.notes else []))


def of_skills(data: Path, count: int, with_storm: bool) -> dict[str, Any]:
    """Build a corpus of skills, beside the peer; return the figures."""
    with daemon() as running:
        skills = running.home / ".claude" / "skills"
        queries = write_real_skills(skills, data, count)
        configure(running.home, _SAME_PRIORITY)
        row = {"skills": count, "bytes": sum(each.stat().st_size for each in _files(skills))}
        row |= _peer(skills)
        with running.client() as client:
            row |= built(running, client, "skills", count)
            row |= _compare_with_peer(row)
            if with_storm:
                row |= storm(client, _files(skills)[:5_000], queries)
        return row


def of_notes(count: int) -> dict[str, Any]:
    """Build a corpus of short notes; return the figures."""
    with daemon() as running:
        notes = running.home / "notes"
        corpus = f'[corpora.notes]\nkind = "files"\nroots = ["{notes}"]\n'
        configure(running.home, corpus + _SAME_PRIORITY)
        write_documents(notes, count)
        with running.client() as client:
            return {"notes": count, **built(running, client, "notes", count)}


def built(running: Daemon, client: Client, corpus: str, count: int) -> dict[str, Any]:
    """Start a daemon; return how long until all of a corpus is searchable, and its memory."""
    os.sync()  # what was just written is not to be paid for by the build
    started = time.perf_counter()
    running.start()
    assert running.process is not None
    memory = Memory(running.process.pid)
    memory.start()
    running.wait_serving(client)
    row = {"serving_s": round(time.perf_counter() - started, 2)}
    while not _is_searchable(state := _find_state(client, corpus), count):
        for name, number in (("described_s", "artifacts"), ("described_in_both_legs_s", "vectors")):
            if state and getattr(state, number) >= count:
                row.setdefault(name, round(time.perf_counter() - started, 2))
        time.sleep(_LOOKED_EVERY_S)
    row["searchable_s"] = round(time.perf_counter() - started, 2)
    row["daemon_cpu_s"] = round(running.cpu_s(), 2)
    while client.status().queue:  # floors, the graph, the image
        time.sleep(0.25)
    row["all_done_s"] = round(time.perf_counter() - started, 2)
    row |= memory.end()
    time.sleep(_SETTLED_AFTER_S)  # child processes without work end
    return row | {"resident_mb": memory.sample()}


def _find_state(client: Client, corpus: str) -> CorpusStatus | None:
    return {each.name: each for each in client.status().corpora}.get(corpus)


def _is_searchable(state: CorpusStatus | None, count: int) -> bool:
    """Return whether so many artifacts are read whole, each record with its vector."""
    whole = state and state.artifacts >= count and not state.heads
    return bool(state and whole and state.vectors >= state.records)


def _compare_with_peer(row: dict[str, Any]) -> dict[str, Any]:
    """Return the times as shares of what the peer takes to read and build."""
    if not (peer := row.get("peer")):
        return {}
    whole = peer["read_s"] + peer["build_s"]
    wanted = ("described_s", "described_in_both_legs_s", "searchable_s")
    return {"of_the_peer": {name: round(row[name] / whole, 2) for name in wanted if name in row}}


def _files(skills: Path) -> list[Path]:
    return sorted(skills.rglob("SKILL.md"))


def _children(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _pss_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def _peer(skills: Path) -> dict[str, Any]:
    """Return what the peer takes to read and build the same skills, and the memory it needs."""
    python = peer_python()
    if not python:
        return {}
    command = [python, "-W", "ignore", str(ROOT / "bench" / "peer" / "building.py"), str(skills)]
    places = {"HOME": str(skills.parent.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=places)
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return {}
    return {"peer": json.loads(done.stdout.splitlines()[-1])}


if __name__ == "__main__":
    main()
